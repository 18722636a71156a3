-- What 0017 has got after it was first there: databases that took it before lack the lock, which 0018 asks for.

-- Handing over, and comparing what has registered, count the stragglers that they replace, and then replace them: neither must
-- come between the other's two. Registrations may go side by side.
CREATE OR REPLACE FUNCTION touchline_hand_over_lock(p_tenant text, p_match text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT hashtextextended(p_tenant || '/' || p_match, 17);
$$;

-- As in 0017.
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
