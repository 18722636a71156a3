-- A phone that registers again while it is being sent to as a straggler.

-- Its claim holds, and whoever has it makes it due again when the push has ended: without the alert, if that has brought it.
-- Two claims at once brought the alert twice.
ALTER TABLE stragglers ADD COLUMN is_sending boolean NOT NULL DEFAULT false;
ALTER TABLE stragglers ADD COLUMN is_wanted_again boolean NOT NULL DEFAULT false;

-- Handing over, and comparing what has registered, count the stragglers that they replace, and then replace them: neither must
-- come between the other's two. Registrations may go side by side.
CREATE FUNCTION touchline_hand_over_lock(p_tenant text, p_match text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT hashtextextended(p_tenant || '/' || p_match, 17);
$$;

-- As in 0006, but for the lock.
CREATE OR REPLACE FUNCTION touchline_hand_over(
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
    PERFORM pg_advisory_xact_lock(touchline_hand_over_lock(p_tenant, p_match));
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

-- As in 0013, but for the lock, and for a straggler that is being sent to.
CREATE OR REPLACE FUNCTION touchline_compare(
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

        -- What is counted as replaced must be what is replaced.
        PERFORM pg_advisory_xact_lock_shared(touchline_hand_over_lock(p_tenant, m.id));
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
                            AND (touchline_passed(t, m.alert_version, i.old_row)
                                OR t.alerted_version = m.alert_version AND i.old_row = ANY (t.alerted)))
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
        SET version = excluded.version, urgent = excluded.urgent, attempts = 0,
            due_at = CASE WHEN s.is_sending AND s.due_at > clock_timestamp() THEN s.due_at ELSE excluded.due_at END,
            is_sending = s.is_sending AND s.due_at > clock_timestamp(),
            is_wanted_again = s.is_sending AND s.due_at > clock_timestamp(),
            alert_version = greatest(excluded.alert_version, s.alert_version),
            environment = CASE WHEN s.is_handed AND s.version = excluded.version THEN s.environment
                               ELSE excluded.environment END,
            cadence = CASE WHEN s.is_handed AND s.version = excluded.version THEN s.cadence ELSE excluded.cadence END,
            shard = CASE WHEN s.is_handed AND s.version = excluded.version THEN s.shard ELSE excluded.shard END,
            is_handed = s.is_handed AND s.version = excluded.version, doubt_cadence = excluded.doubt_cadence,
            doubt_shard = excluded.doubt_shard, doubt_row = excluded.doubt_row;
        IF number > room THEN
            PERFORM touchline_count(p_tenant, m.id, 'production', 'standard', 0::smallint, m.version, NULL, 5::smallint,
                0, 0, 0, 0, 0, 0, 0, number - greatest(0, room), 0, 0, NULL, NULL);
        END IF;
    END LOOP;
END
$$;
