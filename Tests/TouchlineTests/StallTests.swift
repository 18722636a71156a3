import EventLoop
import Executables
import TestSupport
import Testing

@testable import touchline

@Suite("A match that stands still, seen from a command line", .database, .timeLimit(.minutes(10)))
struct StallTests {
    /// Tries a look again and again until it says `word`; the test's time limit ends it where it never does.
    private static let until = """
        until_shown() {
            until touchline match show final >shown 2>&1 && grep -q "$1" shown; do read -rt 0.1 <> <(:) || true; done
        }
        """

    @Test("`match show` says what waits, since when, what APNs answered last, and what stopped")
    func shown() async throws {
        try await CommandStage.with { stage in
            let run = try await stage.run(
                """
                \(Self.until)
                export TOUCHLINE_KEY=$(cat ~/touchline/operator.key)
                export TOUCHLINE_TENANT=$(touchline tenant create acme | awk '/^tenant/ {print $2}')
                touchline app set com.acme.scores production --team-id SIMTEAM001 --key-id SIMKEY0001 --p8 AuthKey.p8
                touchline match create final --bundle com.acme.scores --type Any --kickoff-at 2031-08-22T14:00:00Z \\
                    --content-state '{"home":0,"away":0}'
                touchline activity set final card --token 0a1b2c3d4e5f
                answer() {
                    curl -fsS -X PUT "$SIMULATOR/_sim/faults" -d '{"rules":[{"on":{"route":"device"},"do":'"$1"'}]}'
                }
                answer '{"status":503,"reason":"NobodyKnowsThisOne","retry_after":"1"}'
                touchline event send final --id 1 --importance key --content-state '{"home":1,"away":0}'
                until_shown 'last answer: NobodyKnowsThisOne'
                grep 'behind' shown
                answer '{"status":403,"reason":"InvalidProviderToken"}'
                touchline event send final --id 2 --importance key --content-state '{"home":2,"away":0}'
                until_shown 'tokens stopped'
                tail -n 3 shown
                """,
                ["SIMULATOR": stage.apns.control]
            )
            #expect(run.ending == .exited(0), "\(run.output)")
            let behind = /tokens production standard: 1 behind since [\d:]{8} \(\d+ s\), last answer: NobodyKnows/
            #expect(run.output.contains(behind), "\(run.output)")
            let stopped = "app com.acme.scores production tokens stopped: InvalidProviderToken: check team id"
            #expect(run.output.contains(stopped), "\(run.output)")
        }
    }
}
