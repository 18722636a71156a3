import Core
import Testing

@Suite("An alert of which a part shows nothing")
struct EventAlertTests {
    private func field(_ alert: String, path: String = "alert") throws -> String? {
        let json = try JSONScanner.decode(Array(alert.utf8))
        do throws(Problem) {
            _ = try EventAlert(json, path: path)
            return nil
        } catch {
            #expect(error.code == .invalidField)
            return error.field
        }
    }

    @Test(
        "is refused by that part's name",
        arguments: [
            (#"{}"#, "alert.title"), (#"{"title":"Goal!"}"#, "alert.body"), (#"{"body":"1–0"}"#, "alert.title"),
            (#"{"title":null,"body":"1–0"}"#, "alert.title"), (#"{"title":"Goal!","body":null}"#, "alert.body"),
            (#"{"title":"","body":"1–0"}"#, "alert.title"), (#"{"title":"Goal!","body":""}"#, "alert.body"),
            (#"{"title":" \t","body":"1–0"}"#, "alert.title"), (#"{"title":"Goal!","body":"\n"}"#, "alert.body"),
            // No-break space, ideographic space, zero-width space, byte order mark, joiner, Hangul filler.
            (#"{"title":"\u00a0\u3000","body":"1–0"}"#, "alert.title"),
            (#"{"title":"Goal!","body":"\u200b\ufeff\u200d"}"#, "alert.body"),
            (#"{"title":"\u3164","body":"1–0"}"#, "alert.title"), (#"{"sound":"default"}"#, "alert.title"),
            (#"{"title":{"loc_key":""},"body":"1–0"}"#, "alert.title.loc_key"),
            (#"{"title":"Goal!","body":{"loc_key":" "}}"#, "alert.body.loc_key"),
            (#"{"title":"Goal!","body":{"loc_args":["a"]}}"#, "alert.body.loc_key"),
            (#"{"title":{"loc_key":"GOAL"}}"#, "alert.body"),
        ]
    )
    func refused(alert: String, field: String) throws {
        #expect(try self.field(alert) == field)
    }

    @Test("is named by its place in the body that it came in")
    func place() throws {
        #expect(try field(#"{"title":"Kick-off","body":""}"#, path: "start.alert") == "start.alert.body")
    }

    @Test(
        "is told from one that shows little",
        arguments: [
            #"{"title":"⚽️","body":"🇪🇸"}"#, #"{"title":".","body":"0"}"#, #"{"title":" a ","body":"\u200db"}"#,
            #"{"title":{"loc_key":"GOAL","loc_args":[""]},"body":{"loc_key":"SCORE","loc_args":[]}}"#,
            #"{"title":"a","body":"b","sound":""}"#,
        ]
    )
    func accepted(alert: String) throws {
        #expect(try field(alert) == nil)
    }
}
