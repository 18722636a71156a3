-- How stragglers come and go, each of them counted once, with the line of the version that it lacked.

-- Adds to what stragglers of one version have come to.
CREATE FUNCTION touchline_count(
    p_tenant text, p_match text, p_environment text, p_cadence text, p_shard smallint, p_version bigint,
    p_accepted_at timestamptz, p_priority smallint, p_wanted bigint, p_accepted bigint, p_removed bigint,
    p_refused bigint, p_given_up bigint, p_merged bigint, p_handed bigint, p_over bigint, p_resent bigint,
    p_downgraded bigint, p_first timestamptz, p_last timestamptz
) RETURNS void LANGUAGE sql AS $$
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
$$;

-- Counts stragglers that became nothing but part of another version, or of nothing: `p_what` is merged or removed.
CREATE FUNCTION touchline_count_gone(
    p_tenant text, p_match text, p_environment text, p_cadence text, p_shard smallint, p_version bigint, p_what text,
    p_number bigint, p_handed bigint
) RETURNS void LANGUAGE sql AS $$
    SELECT touchline_count(p_tenant, p_match, p_environment, p_cadence, p_shard, p_version, NULL, 5::smallint, p_number,
        0, CASE WHEN p_what = 'removed' THEN p_number ELSE 0 END, 0, 0,
        CASE WHEN p_what = 'merged' THEN p_number ELSE 0 END, p_handed, 0, 0, 0, NULL, NULL);
$$;

-- Leaves the failures of a sweep's page to pushes of their own. Whatever straggler a phone had before counts as merged.
-- Beyond `p_bound` stragglers of the match they are given up; who is gone meanwhile counts as removed.
CREATE FUNCTION touchline_hand_over(
    p_tenant text, p_match text, p_environment text, p_cadence text, p_shard smallint, p_version bigint,
    p_urgent boolean, p_alert bigint, p_activities text[], p_delays bigint[], p_bound integer
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    room integer := p_bound - (SELECT count(*) FROM (
        SELECT FROM stragglers WHERE tenant_id = p_tenant AND match_id = p_match LIMIT p_bound) AS s);
    placed integer;
    number integer := cardinality(p_activities);
    past integer := greatest(0, number - room);
BEGIN
    PERFORM touchline_count_gone(p_tenant, p_match, o.environment, o.cadence, o.shard, o.version, 'merged', o.number,
                                 o.handed)
    FROM (
        SELECT s.environment, s.cadence, s.shard, s.version, count(*) AS number,
               count(*) FILTER (WHERE s.is_handed) AS handed
        FROM (
            SELECT x.* FROM unnest(p_activities) AS n (activity) CROSS JOIN LATERAL (
                SELECT environment, cadence, shard, version, is_handed FROM stragglers
                WHERE tenant_id = p_tenant AND match_id = p_match AND activity = n.activity LIMIT 1 FOR UPDATE) x
            WHERE x.version < p_version OR x.is_handed) s
        GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4) o;

    INSERT INTO stragglers AS s (tenant_id, match_id, activity, version, urgent, alert_version, attempts, due_at,
                                 environment, cadence, shard, is_handed)
    SELECT p_tenant, p_match, n.activity, p_version, p_urgent, p_alert, 1,
           clock_timestamp() + make_interval(secs => n.delay / 1000.0), p_environment, p_cadence, p_shard, true
    FROM unnest(p_activities, p_delays) WITH ORDINALITY AS n (activity, delay, place)
    CROSS JOIN LATERAL (
        SELECT FROM activities WHERE tenant_id = p_tenant AND match_id = p_match AND activity = n.activity LIMIT 1) a
    WHERE n.place <= room
    ON CONFLICT (tenant_id, match_id, activity) DO UPDATE
    SET version = excluded.version, urgent = excluded.urgent OR s.urgent, attempts = excluded.attempts,
        alert_version = greatest(s.alert_version, excluded.alert_version), due_at = excluded.due_at,
        environment = excluded.environment, cadence = excluded.cadence, shard = excluded.shard, is_handed = true;
    GET DIAGNOSTICS placed = ROW_COUNT;
    IF placed < number THEN
        PERFORM touchline_count(p_tenant, p_match, p_environment, p_cadence, p_shard, p_version, NULL, 5::smallint,
            number - placed, 0, number - placed - past, 0, past, 0, number - placed, past, 0, 0, NULL, NULL);
    END IF;
END
$$;

-- Whether a sweep, as it is committed, has passed a row with an alert: by now it was sent there, or never will be.
CREATE FUNCTION touchline_passed(t targets, p_alert bigint, p_row bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT t.alert_version > p_alert OR (t.alert_version = p_alert AND (t.alert_start IS NULL OR CASE
        WHEN t.alert_wrapped THEN p_row > t.alert_start OR p_row <= t.cursor
        ELSE p_row > t.alert_start AND p_row <= t.cursor END));
$$;

-- Compares registered phones with their matches' versions, after their registration was committed: who is behind becomes
-- a straggler. Whether a sweep brings the version to it instead is decided when it is to be sent, by the version's stamp.
--
-- Of a phone that was there before, with another row (`p_rows`, of `p_cadences` and `p_shards`), the sweep may be sending
-- the alert to its former token: in doubt until it has passed. The registrations of match number n are those from
-- `p_begins[n]` to `p_ends[n]`, ordered by activity. Answers each match's version, and who is behind it. Beyond `p_bound`
-- stragglers of a match a phone gets the next version only, which is counted.
CREATE FUNCTION touchline_compare(
    p_tenant text, p_matches text[], p_begins integer[], p_ends integer[], p_activities text[], p_shown bigint[],
    p_cadences text[], p_shards smallint[], p_rows bigint[], p_bound integer
) RETURNS TABLE (match_id text, version bigint, activity text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    m record;
    late text[];
    room integer;
    number integer;
BEGIN
    FOR m IN
        SELECT i.id, i.first, i.last, x.version, x.urgent_version, x.alert_version,
               x.alert IS NOT NULL AND x.alert_expires_at > clock_timestamp() AS is_pending
        FROM unnest(p_matches, p_begins, p_ends) AS i (id, first, last)
        CROSS JOIN LATERAL (
            SELECT * FROM matches y WHERE y.tenant_id = p_tenant AND y.match_id = i.id LIMIT 1) AS x
    LOOP
        late := ARRAY(SELECT i.activity
            FROM unnest(p_activities[m.first:m.last], p_shown[m.first:m.last]) AS i (activity, shown)
            WHERE m.version > 0 AND coalesce(i.shown, 0) < m.version);
        number := cardinality(late);
        RETURN QUERY SELECT m.id, m.version, l.activity FROM unnest(late) AS l (activity);
        IF number = 0 THEN
            RETURN QUERY SELECT m.id, m.version, NULL::text;
            CONTINUE;
        END IF;
        IF m.is_pending AND EXISTS (SELECT FROM unnest(p_rows[m.first:m.last]) AS i (row) WHERE i.row IS NOT NULL) THEN
            -- A page that has a former row is committed before this, or after: never at the same time.
            PERFORM 1 FROM targets WHERE tenant_id = p_tenant AND match_id = m.id AND kind = 'tokens'
                ORDER BY environment, cadence, shard FOR SHARE;
        END IF;

        PERFORM touchline_count_gone(p_tenant, m.id, o.environment, o.cadence, o.shard, o.version, 'merged', o.number,
                                     o.handed)
        FROM (
            SELECT s.environment, s.cadence, s.shard, s.version, count(*) AS number,
                   count(*) FILTER (WHERE s.is_handed) AS handed
            FROM (
                SELECT x.* FROM unnest(late) AS l (activity) CROSS JOIN LATERAL (
                    SELECT environment, cadence, shard, version, is_handed FROM stragglers
                    WHERE tenant_id = p_tenant AND match_id = m.id AND activity = l.activity LIMIT 1 FOR UPDATE) x
                WHERE x.version < m.version) s
            GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4) o;

        room := p_bound - (SELECT count(*) FROM (
            SELECT FROM stragglers WHERE tenant_id = p_tenant AND match_id = m.id LIMIT p_bound) AS s);
        INSERT INTO stragglers AS s (tenant_id, match_id, activity, version, urgent, alert_version, environment,
                                     cadence, shard, doubt_cadence, doubt_shard, doubt_row)
        SELECT p_tenant, m.id, n.activity, m.version, m.urgent_version > coalesce(n.shown, m.version - 1), n.alert,
               n.environment, n.cadence, n.shard,
               CASE WHEN n.alert > 0 THEN n.old_cadence END, CASE WHEN n.alert > 0 THEN n.old_shard END,
               CASE WHEN n.alert > 0 THEN n.old_row END
        FROM (
            SELECT i.*, a.environment, a.cadence, a.shard, row_number() OVER () AS place,
                   CASE WHEN m.is_pending AND coalesce(i.shown, CASE WHEN i.old_row IS NULL THEN m.version ELSE -1 END)
                             < m.alert_version
                        AND NOT EXISTS (SELECT FROM targets t WHERE t.tenant_id = p_tenant AND t.match_id = m.id
                            AND t.kind = 'tokens' AND (t.environment, t.cadence, t.shard)
                                = (a.environment, i.old_cadence, i.old_shard)
                            AND touchline_passed(t, m.alert_version, i.old_row))
                   THEN m.alert_version ELSE 0 END AS alert
            FROM unnest(p_activities[m.first:m.last], p_shown[m.first:m.last], p_cadences[m.first:m.last],
                        p_shards[m.first:m.last], p_rows[m.first:m.last])
                AS i (activity, shown, old_cadence, old_shard, old_row)
            CROSS JOIN LATERAL (
                SELECT environment, cadence, shard FROM activities
                WHERE tenant_id = p_tenant AND match_id = m.id AND activity = i.activity LIMIT 1) a
            WHERE coalesce(i.shown, 0) < m.version) n
        WHERE n.place <= room
        ON CONFLICT (tenant_id, match_id, activity) DO UPDATE
        SET version = excluded.version, urgent = excluded.urgent, attempts = 0, due_at = excluded.due_at,
            alert_version = greatest(excluded.alert_version, s.alert_version),
            environment = excluded.environment, cadence = excluded.cadence, shard = excluded.shard,
            is_handed = s.is_handed AND s.version = excluded.version, doubt_cadence = excluded.doubt_cadence,
            doubt_shard = excluded.doubt_shard, doubt_row = excluded.doubt_row;
        IF number > room THEN
            PERFORM touchline_count(p_tenant, m.id, 'production', 'standard', 0::smallint, m.version, NULL, 5::smallint,
                0, 0, 0, 0, 0, 0, 0, number - greatest(0, room), 0, 0, NULL, NULL);
        END IF;
    END LOOP;
END
$$;

-- Versions whose counts do not add up: nothing, unless there is a fault in Touchline itself.
--
-- A line adds up if all that was wanted became something. What a sweep handed over must be there: it waits, or is counted
-- with the stragglers of its version.
CREATE FUNCTION touchline_sums_off(p_limit integer) RETURNS TABLE (
    tenant_id text, match_id text, kind text, environment text, cadence text, shard smallint, version bigint, what text
) LANGUAGE sql STABLE AS $$
    SELECT t.tenant_id, t.match_id, t.kind, t.environment, t.cadence, t.shard, t.to_version,
           format('wanted %s, became %s', t.wanted, t.accepted + t.removed + t.refused + t.given_up + t.merged
                  + CASE WHEN t.kind = 'stragglers' THEN 0 ELSE t.handed END)
    FROM turns t
    WHERE t.wanted <> t.accepted + t.removed + t.refused + t.given_up + t.merged
                      + CASE WHEN t.kind = 'stragglers' THEN 0 ELSE t.handed END
    UNION ALL
    SELECT h.tenant_id, h.match_id, 'stragglers', h.environment, h.cadence, h.shard, h.version,
           format('handed over %s, found %s', sum(h.handed), sum(h.found))
    FROM (
        SELECT t.tenant_id, t.match_id, t.environment, t.cadence, t.shard, t.to_version AS version,
               CASE WHEN t.kind = 'tokens' THEN t.handed ELSE 0 END AS handed,
               CASE WHEN t.kind = 'stragglers' THEN t.handed ELSE 0 END AS found
        FROM turns t WHERE t.handed > 0
        UNION ALL
        SELECT t.tenant_id, t.match_id, t.environment, t.cadence, t.shard, t.taken_version, t.handed, 0
        FROM targets t WHERE t.kind = 'tokens' AND t.handed > 0
        UNION ALL
        SELECT s.tenant_id, s.match_id, s.environment, s.cadence, s.shard, s.version, 0, 1
        FROM stragglers s WHERE s.is_handed) h
    GROUP BY 1, 2, 4, 5, 6, 7
    HAVING sum(h.handed) <> sum(h.found)
    LIMIT p_limit;
$$;
