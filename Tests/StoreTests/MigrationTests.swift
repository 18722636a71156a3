import Crypto
import Foundation
import Schema
import Testing

@Suite("The migrations")
struct MigrationTests {
    /// The first half of each one's SHA-256. A line is added with its file, and never changed: a database that has taken a
    /// migration does not take it again.
    private static let released = [
        "0001_create_tables": "7c8ca91b5c856fe9",
        "0002_accept_events": "79a6b372169a1479",
        "0003_rank_due_targets": "5820fae6a1e25e51",
        "0004_follow_phones": "e72d36e00a9483eb",
        "0005_plan_once": "e4a1ce994539df50",
        "0006_count_stragglers": "2836de022b6e42f9",
        "0007_keep_channel_books": "90b271003e01ec94",
        "0008_keep_tables_small": "3f919f012936330a",
        "0009_start_activities": "749e44fbd35ae637",
        "0011_one_phone_a_token": "e958a6264c03e42e",
        "0013_keep_lines": "4df36461bf17c8fe",
        "0015_one_maker_a_bundle": "6dced8333c3afa9f",
        "0016_lead_a_start": "0166b3bb49066fc3",
        "0017_want_again": "552d68c4e2b754f2",
        "0018_keep_alerted": "894b7b365a6d23c5",
        "0019_lock_hand_overs": "abc31d883c43e164",
        "0020_follow_alerts": "c0a750af4e2f03d2",
        "0021_keep_outages": "19114315d446e883",
        "0022_outlast_clocks": "4dbe8afe9eefd3c8",
        "0024_order_events": "e6d210740c2a2aac",
        "0025_end_after_silence": "96a5fbbb02a9ef30",
        "0026_one_activity_a_token": "aaf1e225770bcdf3",
        "0029_keep_last_answers": "424ef20b520bcaf0",
    ]

    @Test("are the files of their folder, in the order of their numbers")
    func files() throws {
        let folder = URL(filePath: #filePath).appending(path: "../../../sql/migrations").standardized
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".sql") }
        #expect(Schema.migrations.map { $0.name + ".sql" } == files.sorted())
    }

    @Test("are what they were when they were released")
    func unchanged() {
        for migration in Schema.migrations {
            let digest = SHA256.hash(migration.sql).prefix(8).map {
                String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
            }
            #expect(Self.released[migration.name] == digest.joined(), "\(migration.name)")
        }
    }
}
