/// The migrations, in the order in which they are applied.
///
/// Each is a file of `migrations/`, compiled into the executable, so that `touchline migrate` needs no files beside it.
package enum Schema {
    /// One migration: its file's name without the ending, and its SQL.
    package struct Migration: Sendable {
        package let name: String
        package let sql: [UInt8]
    }

    /// Never reordered, never edited once released: a change of the schema is a new file at the end.
    package static let migrations: [Migration] = [
        Migration(name: "0001_create_tables", sql: PackageResources._001_create_tables_sql),
        Migration(name: "0002_accept_events", sql: PackageResources._002_accept_events_sql),
        Migration(name: "0003_rank_due_targets", sql: PackageResources._003_rank_due_targets_sql),
        Migration(name: "0004_follow_phones", sql: PackageResources._004_follow_phones_sql),
        Migration(name: "0005_plan_once", sql: PackageResources._005_plan_once_sql),
        Migration(name: "0006_count_stragglers", sql: PackageResources._006_count_stragglers_sql),
        Migration(name: "0007_keep_channel_books", sql: PackageResources._007_keep_channel_books_sql),
        Migration(name: "0008_keep_tables_small", sql: PackageResources._008_keep_tables_small_sql),
        Migration(name: "0009_start_activities", sql: PackageResources._009_start_activities_sql),
        Migration(name: "0011_one_phone_a_token", sql: PackageResources._011_one_phone_a_token_sql),
        Migration(name: "0013_keep_lines", sql: PackageResources._013_keep_lines_sql),
        Migration(name: "0015_one_maker_a_bundle", sql: PackageResources._015_one_maker_a_bundle_sql),
        Migration(name: "0016_lead_a_start", sql: PackageResources._016_lead_a_start_sql),
        Migration(name: "0017_want_again", sql: PackageResources._017_want_again_sql),
        Migration(name: "0018_keep_alerted", sql: PackageResources._018_keep_alerted_sql),
        Migration(name: "0019_lock_hand_overs", sql: PackageResources._019_lock_hand_overs_sql),
        Migration(name: "0020_follow_alerts", sql: PackageResources._020_follow_alerts_sql),
        Migration(name: "0021_keep_outages", sql: PackageResources._021_keep_outages_sql),
        Migration(name: "0022_outlast_clocks", sql: PackageResources._022_outlast_clocks_sql),
        Migration(name: "0024_order_events", sql: PackageResources._024_order_events_sql),
        Migration(name: "0025_end_after_silence", sql: PackageResources._025_end_after_silence_sql),
        Migration(name: "0026_one_activity_a_token", sql: PackageResources._026_one_activity_a_token_sql),
        Migration(name: "0029_keep_last_answers", sql: PackageResources._029_keep_last_answers_sql),
    ]
}
