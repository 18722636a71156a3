import Executables
import FoundationEssentials

/// A file of openfootball's JSON projects: the matches of one competition, with their goals.
///
/// Source: openfootball/worldcup.json, public domain. The files are written by hand over years, so what varies between
/// them is taken as it comes: a minute as number or text, a missing list of goals, a team as text or as an object.
struct OpenFootballFile: Decodable, Sendable {
    let name: String?
    let matches: [OpenFootballMatch]

    init(json: [UInt8]) throws(Failure) {
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(json))
        } catch let DecodingError.keyNotFound(key, context) {
            throw Self.unreadable(context.codingPath + [key], "is missing")
        } catch let DecodingError.typeMismatch(_, context) {
            throw Self.unreadable(context.codingPath, "has another type than expected")
        } catch let DecodingError.valueNotFound(_, context) {
            throw Self.unreadable(context.codingPath, "is null")
        } catch let DecodingError.dataCorrupted(context) {
            throw Self.unreadable(context.codingPath, context.debugDescription)
        } catch {
            throw Failure(.failed, "it is no openfootball file: \(error)")
        }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decodeIfPresent(String.self, forKey: .name)
        if let matches = try container.decodeIfPresent([OpenFootballMatch].self, forKey: .matches) {
            self.matches = matches
        } else {
            // Older files hold the matches by round.
            matches = try container.decode([Round].self, forKey: .rounds).flatMap(\.matches)
        }
    }

    private static func unreadable(_ path: [any CodingKey], _ what: String) -> Failure {
        let place = path.map { $0.intValue.map { "[\($0 + 1)]" } ?? $0.stringValue }.joined(separator: ".")
        return Failure(.failed, "it is no openfootball file: \(place.isEmpty ? "the JSON" : place) \(what)")
    }

    private struct Round: Decodable { let matches: [OpenFootballMatch] }

    private enum CodingKeys: String, CodingKey { case name, matches, rounds }
}

/// One match of such a file.
struct OpenFootballMatch: Decodable, Sendable {
    let round: String?
    /// `2026-06-11`.
    let date: String?
    /// `19:00`, or `20:00 UTC-6`.
    let time: String?
    let home: String
    let away: String
    /// None: not played yet.
    let score: Score?
    let homeGoals: [Goal]
    let awayGoals: [Goal]

    /// Home and away goals at the end of each part; each stands for the whole match so far, but `p`.
    struct Score: Decodable, Sendable {
        /// Half-time.
        var ht: [Int]?
        /// After 90 minutes.
        var ft: [Int]?
        /// After extra time.
        var et: [Int]?
        /// The shoot-out alone.
        var p: [Int]?
    }

    struct Goal: Decodable, Sendable {
        let name: String
        let minute: MatchMinute
        let isPenalty: Bool
        /// Stands in the list of the team that it counts for.
        let isOwnGoal: Bool

        init(name: String, minute: MatchMinute, isPenalty: Bool = false, isOwnGoal: Bool = false) {
            self.name = name
            self.minute = minute
            self.isPenalty = isPenalty
            self.isOwnGoal = isOwnGoal
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            name = try container.decode(String.self, forKey: .name)
            isPenalty = try container.decodeIfPresent(Bool.self, forKey: .penalty) ?? false
            isOwnGoal = try container.decodeIfPresent(Bool.self, forKey: .owngoal) ?? false
            if let number = try? container.decode(Int.self, forKey: .minute) {
                minute = MatchMinute(number, added: try container.decodeIfPresent(Int.self, forKey: .offset) ?? 0)
            } else {
                let text = try container.decode(String.self, forKey: .minute)
                guard let read = MatchMinute(text) else {
                    throw DecodingError.dataCorruptedError(
                        forKey: .minute,
                        in: container,
                        debugDescription: "is no minute: “\(text)”"
                    )
                }
                minute = read
            }
        }

        private enum CodingKeys: String, CodingKey { case name, minute, offset, penalty, owngoal }
    }

    init(round: String?, home: String, away: String, score: Score?, homeGoals: [Goal], awayGoals: [Goal]) {
        self.round = round
        date = nil
        time = nil
        self.home = home
        self.away = away
        self.score = score
        self.homeGoals = homeGoals
        self.awayGoals = awayGoals
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        round = try container.decodeIfPresent(String.self, forKey: .round)
        date = try container.decodeIfPresent(String.self, forKey: .date)
        time = try container.decodeIfPresent(String.self, forKey: .time)
        home = try container.decode(Team.self, forKey: .team1).name
        away = try container.decode(Team.self, forKey: .team2).name
        score = try Self.score(decoder)
        homeGoals = try container.decodeIfPresent([Goal].self, forKey: .goals1) ?? []
        awayGoals = try container.decodeIfPresent([Goal].self, forKey: .goals2) ?? []
    }

    /// `{"ft":[2,1],…}`; `[2,1]`; or, in older files, `"score1":2,"score2":1`, with `i` for half-time, `et` and `p` behind.
    private static func score(_ decoder: any Decoder) throws -> Score? {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let pair = try? container.decode([Int].self, forKey: .score) { return Score(ft: pair) }
        if let score = try container.decodeIfPresent(Score.self, forKey: .score) { return score }
        let flat = try decoder.container(keyedBy: FlatKey.self)
        func pair(_ suffix: String) throws -> [Int]? {
            guard let home = try flat.decodeIfPresent(Int.self, forKey: FlatKey(stringValue: "score1\(suffix)")),
                let away = try flat.decodeIfPresent(Int.self, forKey: FlatKey(stringValue: "score2\(suffix)"))
            else { return nil }
            return [home, away]
        }
        guard let ft = try pair("") else { return nil }
        return Score(ht: try pair("i"), ft: ft, et: try pair("et"), p: try pair("p"))
    }

    private struct FlatKey: CodingKey {
        let stringValue: String
        let intValue: Int? = nil

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
    }

    /// `"Argentina"` or `{"name":"Argentina","code":"ARG"}`.
    private struct Team: Decodable {
        let name: String

        init(from decoder: any Decoder) throws {
            if let text = try? decoder.singleValueContainer().decode(String.self) {
                name = text
            } else {
                name = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .name)
            }
        }

        private enum CodingKeys: String, CodingKey { case name }
    }

    private enum CodingKeys: String, CodingKey { case round, date, time, team1, team2, score, goals1, goals2 }
}
