-- A phone whose alert is on its way by itself is left out of sweeps, and keeps its first doubt.

-- What a page of a sweep looks for: mostly there is none.
CREATE INDEX stragglers_alerting ON stragglers (tenant_id, match_id)
    WHERE alert_version > 0 AND (is_sending OR doubt_row IS NOT NULL);

-- As in 0018, but for the doubts, and the order of locks. A sweep can have the alert under way to that former row alone which
-- the alert's stamp has seen: rows that the phone left later tell nothing of it.
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
            -- Handing over, then stragglers, then activities: as pages lock them.
            PERFORM pg_advisory_xact_lock_shared(touchline_hand_over_lock(p_tenant, m.id));
            PERFORM 1 FROM unnest(late) AS l (activity) CROSS JOIN LATERAL (
                SELECT FROM stragglers
                WHERE tenant_id = p_tenant AND match_id = m.id AND activity = l.activity LIMIT 1 FOR UPDATE) s;
            UPDATE activities SET alerted_version = m.alert_version WHERE ctid = ANY (ARRAY(
                SELECT a.ctid
                FROM unnest(p_activities[m.first:m.last], p_cadences[m.first:m.last], p_shards[m.first:m.last],
                            p_rows[m.first:m.last]) AS i (activity, old_cadence, old_shard, old_row)
                CROSS JOIN LATERAL (
                    SELECT ctid, environment, alerted_version FROM activities
                    WHERE tenant_id = p_tenant AND match_id = m.id AND activity = i.activity LIMIT 1 FOR UPDATE) a
                WHERE i.old_row IS NOT NULL AND a.alerted_version < m.alert_version
                  AND EXISTS (SELECT FROM targets t WHERE t.tenant_id = p_tenant AND t.match_id = m.id
                      AND t.kind = 'tokens' AND (t.environment, t.cadence, t.shard)
                          = (a.environment, i.old_cadence, i.old_shard)
                      AND (touchline_passed(t, m.alert_version, i.old_row)
                          OR t.alerted_version = m.alert_version AND i.old_row = ANY (t.alerted)))));
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
                        AND a.alerted_version < m.alert_version
                   THEN m.alert_version ELSE 0 END AS alert
            FROM unnest(p_activities[m.first:m.last], p_shown[m.first:m.last], p_cadences[m.first:m.last],
                        p_shards[m.first:m.last], p_rows[m.first:m.last])
                AS i (activity, shown, old_cadence, old_shard, old_row)
            CROSS JOIN LATERAL (
                SELECT environment, cadence, shard, alerted_version FROM activities
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
            is_handed = s.is_handed AND s.version = excluded.version,
            doubt_cadence = CASE WHEN s.alert_version > 0 AND s.alert_version >= excluded.alert_version
                                 THEN s.doubt_cadence ELSE excluded.doubt_cadence END,
            doubt_shard = CASE WHEN s.alert_version > 0 AND s.alert_version >= excluded.alert_version
                               THEN s.doubt_shard ELSE excluded.doubt_shard END,
            doubt_row = CASE WHEN s.alert_version > 0 AND s.alert_version >= excluded.alert_version
                             THEN s.doubt_row ELSE excluded.doubt_row END;
        IF number > room THEN
            PERFORM touchline_count(p_tenant, m.id, 'production', 'standard', 0::smallint, m.version, NULL, 5::smallint,
                0, 0, 0, 0, 0, 0, 0, number - greatest(0, room), 0, 0, NULL, NULL);
        END IF;
    END LOOP;
END
$$;
