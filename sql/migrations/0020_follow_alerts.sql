-- An alert that is under way by itself is not overtaken, comes once, and its phone gets what came meanwhile.

-- What a page of a sweep looks for: mostly there is none.
CREATE INDEX stragglers_alerting ON stragglers (tenant_id, match_id)
    WHERE alert_version > 0 AND (is_sending OR doubt_row IS NOT NULL);

-- The newest version that only sends again what was there: resting targets count as having it, so that whoever lacks the state
-- waits for it by itself.
ALTER TABLE matches ADD COLUMN resent_version bigint NOT NULL DEFAULT 0;

-- As in 0002, but that the version is remembered.
CREATE OR REPLACE FUNCTION touchline_resend(p_tenant text, p_match text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    m matches;
BEGIN
    SELECT * INTO m FROM matches AS x WHERE x.tenant_id = p_tenant AND x.match_id = p_match FOR UPDATE;
    IF NOT FOUND OR m.resend_at IS NULL OR m.resend_at > clock_timestamp() THEN
        RETURN NULL;
    END IF;
    UPDATE matches AS x SET
        version = m.version + 1, resent_version = m.version + 1,
        end_version = CASE WHEN m.end_version = m.version THEN m.version + 1 ELSE m.end_version END,
        end_resends = m.end_resends + CASE WHEN m.end_version IS NULL THEN 0 ELSE 1 END,
        resend_at = CASE WHEN m.end_version IS NULL THEN NULL
            ELSE m.resend_at + (ARRAY['4 minutes', '25 minutes', '90 minutes']::interval[])[m.end_resends + 1] END
    WHERE x.tenant_id = p_tenant AND x.match_id = p_match;
    UPDATE targets AS t SET reached_version = m.version + 1, taken_version = m.version + 1
    WHERE t.tenant_id = p_tenant AND t.match_id = p_match AND t.due_at IS NULL AND t.turn_start IS NULL
      AND t.reached_version = m.version
      AND NOT (t.kind = 'channel' AND EXISTS (
          SELECT FROM channels c WHERE (c.tenant_id, c.match_id, c.environment, c.cadence)
              = (t.tenant_id, t.match_id, t.environment, t.cadence) AND c.storage_policy = 0));
    UPDATE targets AS t SET due_at = clock_timestamp()
    WHERE t.tenant_id = p_tenant AND t.match_id = p_match AND t.due_at IS NULL AND t.reached_version <= m.version;
    RETURN m.version + 1;
END
$$;

-- As in 0019, but that who waits already needs no room; and who waits to know of the alert of a former token is not put off by what
-- that came to. A claim is void by the new due time: what is under way may be older.
CREATE OR REPLACE FUNCTION touchline_hand_over(
    p_tenant text, p_match text, p_environment text, p_cadence text, p_shard smallint, p_version bigint,
    p_urgent boolean, p_alert bigint, p_activities text[], p_delays bigint[], p_bound integer
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    room integer := p_bound - (SELECT count(*) FROM (
        SELECT FROM stragglers WHERE tenant_id = p_tenant AND match_id = p_match LIMIT p_bound) AS s);
    placed integer;
    number integer := cardinality(p_activities);
    there text[];
    past integer;
BEGIN
    PERFORM pg_advisory_xact_lock(touchline_hand_over_lock(p_tenant, p_match));
    there := ARRAY(SELECT s.activity FROM unnest(p_activities) AS n (activity) CROSS JOIN LATERAL (
        SELECT activity FROM stragglers
        WHERE tenant_id = p_tenant AND match_id = p_match AND activity = n.activity LIMIT 1) s);
    past := greatest(0, number - cardinality(there) - greatest(0, room));
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
    FROM (
        SELECT i.*, i.activity = ANY (there) AS is_there,
               row_number() OVER (PARTITION BY i.activity = ANY (there)) AS place
        FROM unnest(p_activities, p_delays) AS i (activity, delay)) n
    CROSS JOIN LATERAL (
        SELECT FROM activities WHERE tenant_id = p_tenant AND match_id = p_match AND activity = n.activity LIMIT 1) a
    WHERE n.is_there OR n.place <= room
    ON CONFLICT (tenant_id, match_id, activity) DO UPDATE
    SET version = excluded.version, urgent = excluded.urgent OR s.urgent, attempts = excluded.attempts,
        alert_version = greatest(s.alert_version, excluded.alert_version),
        doubt_row = CASE WHEN (s.doubt_cadence, s.doubt_shard) = (p_cadence, p_shard) THEN NULL ELSE s.doubt_row END,
        due_at = CASE WHEN s.doubt_row IS NULL OR (s.doubt_cadence, s.doubt_shard) <> (p_cadence, p_shard)
                      THEN excluded.due_at
                      WHEN s.is_sending THEN clock_timestamp() ELSE least(s.due_at, excluded.due_at) END,
        is_sending = false, is_wanted_again = false,
        environment = excluded.environment, cadence = excluded.cadence, shard = excluded.shard, is_handed = true;
    GET DIAGNOSTICS placed = ROW_COUNT;
    IF placed < number THEN
        PERFORM touchline_count(p_tenant, p_match, p_environment, p_cadence, p_shard, p_version, NULL, 5::smallint,
            number - placed, 0, number - placed - past, 0, past, 0, number - placed, past, 0, 0, NULL, NULL);
    END IF;
END
$$;

-- As in 0018, but for these. Of who waits already, a sweep has the alert under way to the former row only if the alert's stamp has
-- seen that row's registration (`p_xids`): else a doubt from before stays, and the alert has not come. A shard that was made behind
-- the alert brings it to nobody. Who waits already needs no room. And locks are taken in the order of pages: targets, handing over,
-- stragglers, activities. The one without `p_xids` stays, for processes of the version before.
CREATE FUNCTION touchline_compare(
    p_tenant text, p_matches text[], p_begins integer[], p_ends integer[], p_activities text[], p_shown bigint[],
    p_cadences text[], p_shards smallint[], p_rows bigint[], p_xids bigint[], p_bound integer
) RETURNS TABLE (match_id text, version bigint, activity text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    m record;
    late text[];
    there text[];
    room integer;
    number integer;
BEGIN
    FOR m IN
        SELECT i.id, i.first, i.last, x.version, x.urgent_version, x.alert_version,
               x.alert IS NOT NULL AND x.alert_expires_at > clock_timestamp() AS is_pending,
               CASE WHEN x.alert_version <= x.stamped_version THEN x.alert_snapshot END AS alert_snapshot
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
                            p_rows[m.first:m.last], p_xids[m.first:m.last])
                    AS i (activity, old_cadence, old_shard, old_row, old_xid)
                CROSS JOIN LATERAL (
                    SELECT ctid, environment, alerted_version FROM activities
                    WHERE tenant_id = p_tenant AND match_id = m.id AND activity = i.activity LIMIT 1 FOR UPDATE) a
                WHERE i.old_row IS NOT NULL AND a.alerted_version < m.alert_version
                  AND NOT EXISTS (SELECT FROM stragglers s
                      WHERE s.tenant_id = p_tenant AND s.match_id = m.id AND s.activity = i.activity
                        AND s.alert_version = m.alert_version AND (s.attempts > 0 OR s.is_handed
                          OR pg_visible_in_snapshot(i.old_xid::text::xid8, m.alert_snapshot) IS NOT TRUE))
                  AND EXISTS (SELECT FROM targets t WHERE t.tenant_id = p_tenant AND t.match_id = m.id
                      AND t.kind = 'tokens' AND (t.environment, t.cadence, t.shard)
                          = (a.environment, i.old_cadence, i.old_shard)
                      AND t.made_version < m.alert_version
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

        there := ARRAY(SELECT s.activity FROM unnest(late) AS l (activity) CROSS JOIN LATERAL (
            SELECT activity FROM stragglers
            WHERE tenant_id = p_tenant AND match_id = m.id AND activity = l.activity LIMIT 1) s);
        number := number - cardinality(there);
        room := p_bound - (SELECT count(*) FROM (
            SELECT FROM stragglers WHERE tenant_id = p_tenant AND match_id = m.id LIMIT p_bound) AS s);
        INSERT INTO stragglers AS s (tenant_id, match_id, activity, version, urgent, alert_version, environment,
                                     cadence, shard, doubt_cadence, doubt_shard, doubt_row)
        SELECT p_tenant, m.id, n.activity, m.version, m.urgent_version > coalesce(n.shown, m.version - 1), n.alert,
               n.environment, n.cadence, n.shard,
               CASE WHEN n.is_doubtful THEN n.old_cadence END, CASE WHEN n.is_doubtful THEN n.old_shard END,
               CASE WHEN n.is_doubtful THEN n.old_row END
        FROM (
            SELECT i.*, a.environment, a.cadence, a.shard, i.activity = ANY (there) AS is_there,
                   row_number() OVER (PARTITION BY i.activity = ANY (there)) AS place,
                   a.alerted_version < m.alert_version AND (NOT i.activity = ANY (there)
                       OR pg_visible_in_snapshot(i.old_xid::text::xid8, m.alert_snapshot)) AS is_doubtful,
                   CASE WHEN m.is_pending AND coalesce(i.shown, CASE WHEN i.old_row IS NULL THEN m.version ELSE -1 END)
                             < m.alert_version
                        AND a.alerted_version < m.alert_version
                   THEN m.alert_version ELSE 0 END AS alert
            FROM unnest(p_activities[m.first:m.last], p_shown[m.first:m.last], p_cadences[m.first:m.last],
                        p_shards[m.first:m.last], p_rows[m.first:m.last], p_xids[m.first:m.last])
                AS i (activity, shown, old_cadence, old_shard, old_row, old_xid)
            CROSS JOIN LATERAL (
                SELECT environment, cadence, shard, alerted_version FROM activities
                WHERE tenant_id = p_tenant AND match_id = m.id AND activity = i.activity LIMIT 1) a
            WHERE coalesce(i.shown, 0) < m.version) n
        WHERE n.is_there OR n.place <= room
        ON CONFLICT (tenant_id, match_id, activity) DO UPDATE
        SET version = excluded.version, urgent = excluded.urgent, attempts = 0,
            due_at = CASE WHEN s.is_sending AND s.due_at > clock_timestamp() THEN s.due_at ELSE excluded.due_at END,
            is_sending = s.is_sending AND s.due_at > clock_timestamp(),
            is_wanted_again = s.is_sending AND s.due_at > clock_timestamp(),
            alert_version = CASE
                WHEN s.doubt_row IS NULL AND s.attempts = 0 AND NOT s.is_handed AND s.alert_version <= (
                    SELECT a.alerted_version FROM activities a
                    WHERE a.tenant_id = s.tenant_id AND a.match_id = s.match_id AND a.activity = s.activity)
                THEN excluded.alert_version ELSE greatest(excluded.alert_version, s.alert_version) END,
            environment = CASE WHEN s.is_handed AND s.version = excluded.version THEN s.environment
                               ELSE excluded.environment END,
            cadence = CASE WHEN s.is_handed AND s.version = excluded.version THEN s.cadence ELSE excluded.cadence END,
            shard = CASE WHEN s.is_handed AND s.version = excluded.version THEN s.shard ELSE excluded.shard END,
            is_handed = s.is_handed AND s.version = excluded.version,
            doubt_cadence = CASE WHEN excluded.doubt_row IS NULL AND s.alert_version >= excluded.alert_version
                                 THEN s.doubt_cadence ELSE excluded.doubt_cadence END,
            doubt_shard = CASE WHEN excluded.doubt_row IS NULL AND s.alert_version >= excluded.alert_version
                               THEN s.doubt_shard ELSE excluded.doubt_shard END,
            doubt_row = CASE WHEN excluded.doubt_row IS NULL AND s.alert_version >= excluded.alert_version
                             THEN s.doubt_row ELSE excluded.doubt_row END;
        IF number > greatest(0, room) THEN
            PERFORM touchline_count(p_tenant, m.id, 'production', 'standard', 0::smallint, m.version, NULL, 5::smallint,
                0, 0, 0, 0, 0, 0, 0, number - greatest(0, room), 0, 0, NULL, NULL);
        END IF;
    END LOOP;
END
$$;
