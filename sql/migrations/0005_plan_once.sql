-- Functions of language sql that are not inlined are planned at each call, which took longer than all the rest of an event's
-- acceptance. In plpgsql they are planned once a connection.

CREATE OR REPLACE FUNCTION touchline_mark_due(p_tenant text, p_match text, p_key boolean) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE targets SET due_at = least(due_at, clock_timestamp()), urgent = urgent OR p_key
    WHERE tenant_id = p_tenant AND match_id = p_match
      AND (due_at IS NULL OR (p_key AND NOT urgent) OR (due_at > clock_timestamp() AND (p_key OR backoff > 0)));
END
$$;

CREATE OR REPLACE FUNCTION touchline_plan_resend(p_tenant text, p_match text, p_at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE matches SET resend_at = p_at, housekeep_at = least(housekeep_at, p_at)
    WHERE tenant_id = p_tenant AND match_id = p_match AND EXISTS (
        SELECT FROM channels c WHERE c.tenant_id = p_tenant AND c.match_id = p_match AND c.storage_policy = 0
          AND c.state = 'open');
END
$$;

-- Small and hot: what is dead on a page is taken away when the page is used again, if it has the room for that.
ALTER TABLE matches SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
ALTER TABLE channels SET (fillfactor = 70);
-- They only grow until they are pruned: without a vacuum now and then, the indexes' only-scans would read the table.
ALTER TABLE events SET (autovacuum_vacuum_insert_scale_factor = 0.05);
ALTER TABLE turns SET (fillfactor = 90, autovacuum_vacuum_insert_scale_factor = 0.05);
