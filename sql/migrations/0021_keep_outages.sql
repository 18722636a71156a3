-- A route of an app at which nothing succeeds: while a row stands, one push at a time tries whether it is over.
CREATE TABLE outages (
    tenant_id      text NOT NULL,
    bundle         text NOT NULL,
    environment    text NOT NULL CHECK (environment IN ('sandbox', 'production')),
    route          text NOT NULL CHECK (route IN ('channel', 'tokens')),
    failing_since  timestamptz NOT NULL,
    probes         integer NOT NULL DEFAULT 0 CHECK (probes >= 0),   -- that failed
    next_probe_at  timestamptz NOT NULL,                             -- who takes the probe moves it ahead
    PRIMARY KEY (tenant_id, bundle, environment, route)
);

-- Nothing is granted to the API: it neither reads nor writes them.
ALTER TABLE outages ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON outages TO touchline_api
    USING (tenant_id = current_setting('touchline.tenant', true))
    WITH CHECK (tenant_id = current_setting('touchline.tenant', true));
