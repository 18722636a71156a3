-- The database's clock may be set back, or stand elsewhere after a failover: nothing waits for it to catch up.

-- When the last stamp was given: a stamp ahead of the clock tells a flood of versions from a clock that was set back.
ALTER TABLE matches ADD COLUMN stamped_at timestamptz;

-- One row: the latest time that a housekeeper has seen on this clock. A clock that shows less was set back since.
CREATE TABLE clock (
    one        boolean PRIMARY KEY DEFAULT true CHECK (one),
    seen_at    timestamptz NOT NULL,
    -- When claims that the earlier clock gave end, unless their holders have renewed them; NULL: the clock was not set back.
    claims_end_at timestamptz
) WITH (fillfactor = 50);
INSERT INTO clock (seen_at) VALUES (clock_timestamp());

-- As in 0008, but that it notes when it gives a stamp.
CREATE OR REPLACE FUNCTION touchline_mark_due(p_tenant text, p_match text, p_key boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    at timestamptz := clock_timestamp();
    at_ms bigint := floor(extract(epoch FROM at) * 1000)::bigint;
BEGIN
    UPDATE targets SET
        due_at = CASE WHEN NOT p_key AND due_at IS NULL AND backoff = 0
                           AND routine_at <= at_ms AND routine_at + routine_gap > at_ms
                      THEN to_timestamp((routine_at + routine_gap) / 1000.0)
                      ELSE least(due_at, at) END,
        held_at = CASE WHEN NOT p_key AND due_at IS NULL AND backoff = 0
                            AND routine_at <= at_ms AND routine_at + routine_gap > at_ms
                       THEN at ELSE held_at END,
        urgent = urgent OR p_key
    WHERE tenant_id = p_tenant AND match_id = p_match
      AND (due_at IS NULL OR (p_key AND NOT urgent) OR (due_at > at AND (p_key OR backoff > 0)));

    -- A version without tokens is stamped with its acceptance, where the clock has passed the last stamp.
    UPDATE matches SET last_stamp = at_ms / 1000, stamped_version = version, stamped_at = at,
        stamp_snapshot = pg_current_snapshot(),
        alert_snapshot = CASE WHEN alert_version > stamped_version THEN pg_current_snapshot() ELSE alert_snapshot END,
        merged_versions = merged_versions + version - stamped_version - 1
    WHERE tenant_id = p_tenant AND match_id = p_match AND stamped_version < version AND last_stamp < at_ms / 1000
      AND EXISTS (SELECT FROM targets t WHERE t.tenant_id = p_tenant AND t.match_id = p_match AND t.kind = 'channel'
          AND t.due_at <= at)
      AND NOT EXISTS (SELECT FROM targets t WHERE t.tenant_id = p_tenant AND t.match_id = p_match AND t.kind = 'tokens');
END
$$;
