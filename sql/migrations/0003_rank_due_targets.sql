-- A due target says by itself whether it lacks a key version: claims need not look at its match.
ALTER TABLE targets ADD COLUMN urgent boolean NOT NULL DEFAULT false;
UPDATE targets t SET urgent = true FROM matches m
    WHERE (m.tenant_id, m.match_id) = (t.tenant_id, t.match_id) AND m.urgent_version > t.urgent_version
      AND t.due_at IS NOT NULL;

-- Marks what is behind. A target that is due already stays as it is, unless the version is `key`: that makes it urgent,
-- and brings a paced due time forward. One that backs off is tried again with whatever is newer.
CREATE OR REPLACE FUNCTION touchline_mark_due(p_tenant text, p_match text, p_key boolean) RETURNS void LANGUAGE sql AS $$
    UPDATE targets SET due_at = least(due_at, clock_timestamp()), urgent = urgent OR p_key
    WHERE tenant_id = p_tenant AND match_id = p_match
      AND (due_at IS NULL OR (p_key AND NOT urgent) OR (due_at > clock_timestamp() AND (p_key OR backoff > 0)));
$$;
