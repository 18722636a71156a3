-- The newest answer of APNs that was not an acceptance, of each kind of target of a match: shown while the match is behind.
-- Written at most once a second for each process and key, and only while pushes fail; nothing decides by it.
CREATE TABLE last_answers (
    tenant_id    text NOT NULL,
    match_id     text NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('channel', 'tokens')),
    environment  text NOT NULL CHECK (environment IN ('sandbox', 'production')),
    answer       text NOT NULL,              -- in APNs' own words: 503 Shutdown
    answered_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, match_id, kind, environment)
) WITH (fillfactor = 50);

GRANT SELECT ON last_answers TO touchline_api;
ALTER TABLE last_answers ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON last_answers TO touchline_api
    USING (tenant_id = current_setting('touchline.tenant', true))
    WITH CHECK (tenant_id = current_setting('touchline.tenant', true));
