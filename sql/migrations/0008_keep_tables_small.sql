-- What is updated thousands of times a minute stays small, and a lone event finds its way sooner.

-- The gap between routine updates that held when the last one went out, milliseconds. A routine version that comes within it
-- makes its target due when the gap is over: nobody claims the target only to find that it must wait. A hint: what is claimed
-- is decided on by the app's settings as they are then.
ALTER TABLE targets ADD COLUMN routine_gap integer NOT NULL DEFAULT 0;

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

    -- A version without tokens is stamped with its acceptance, where the clock has passed the last stamp: its channel's push
    -- waits for the disk once and not twice. With tokens it is the first claim that stamps, since the stamp says which
    -- registrations come before the version: one that compares itself with the version before must not be among them. The
    -- first token makes its target under the match's lock: it was there before this, or comes with this version.
    UPDATE matches SET last_stamp = at_ms / 1000, stamped_version = version, stamp_snapshot = pg_current_snapshot(),
        alert_snapshot = CASE WHEN alert_version > stamped_version THEN pg_current_snapshot() ELSE alert_snapshot END,
        merged_versions = merged_versions + version - stamped_version - 1
    WHERE tenant_id = p_tenant AND match_id = p_match AND stamped_version < version AND last_stamp < at_ms / 1000
      AND EXISTS (SELECT FROM targets t WHERE t.tenant_id = p_tenant AND t.match_id = p_match AND t.kind = 'channel'
          AND t.due_at <= at)
      AND NOT EXISTS (SELECT FROM targets t WHERE t.tenant_id = p_tenant AND t.match_id = p_match AND t.kind = 'tokens');
END
$$;

-- When a turn's line was made, to forget it by.
ALTER TABLE turns ADD COLUMN made_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX turns_made_at ON turns USING brin (made_at);

-- These were of language sql, not inlined, and so parsed and planned at each call: for each straggler's push once or twice.

CREATE OR REPLACE FUNCTION touchline_count(
    p_tenant text, p_match text, p_environment text, p_cadence text, p_shard smallint, p_version bigint,
    p_accepted_at timestamptz, p_priority smallint, p_wanted bigint, p_accepted bigint, p_removed bigint,
    p_refused bigint, p_given_up bigint, p_merged bigint, p_handed bigint, p_over bigint, p_resent bigint,
    p_downgraded bigint, p_first timestamptz, p_last timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO turns AS t (tenant_id, match_id, kind, environment, cadence, shard, from_version, to_version,
        accepted_at, priority, wanted, accepted, removed, refused, given_up, merged, handed, over, resent, downgraded,
        first_push_at, last_push_at)
    VALUES (p_tenant, p_match, 'stragglers', p_environment, p_cadence, p_shard, p_version, p_version, p_accepted_at,
        p_priority, p_wanted, p_accepted, p_removed, p_refused, p_given_up, p_merged, p_handed, p_over, p_resent,
        p_downgraded, p_first, p_last)
    ON CONFLICT (tenant_id, match_id, kind, environment, cadence, shard, to_version) DO UPDATE SET
        accepted_at = coalesce(t.accepted_at, excluded.accepted_at),
        priority = greatest(t.priority, excluded.priority),
        wanted = t.wanted + excluded.wanted, accepted = t.accepted + excluded.accepted,
        removed = t.removed + excluded.removed, refused = t.refused + excluded.refused,
        given_up = t.given_up + excluded.given_up, merged = t.merged + excluded.merged,
        handed = t.handed + excluded.handed, over = t.over + excluded.over, resent = t.resent + excluded.resent,
        downgraded = t.downgraded + excluded.downgraded,
        first_push_at = least(t.first_push_at, excluded.first_push_at),
        last_push_at = greatest(t.last_push_at, excluded.last_push_at);
END
$$;

-- Counts stragglers that became nothing but part of another version, or of nothing: `p_what` is merged or removed.
CREATE OR REPLACE FUNCTION touchline_count_gone(
    p_tenant text, p_match text, p_environment text, p_cadence text, p_shard smallint, p_version bigint, p_what text,
    p_number bigint, p_handed bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM touchline_count(p_tenant, p_match, p_environment, p_cadence, p_shard, p_version, NULL, 5::smallint, p_number,
        0, CASE WHEN p_what = 'removed' THEN p_number ELSE 0 END, 0, 0,
        CASE WHEN p_what = 'merged' THEN p_number ELSE 0 END, p_handed, 0, 0, 0, NULL, NULL);
END
$$;
