-- Devices that follow topics, and the one-shot starts of a match's activities on them.

CREATE TABLE devices (
    tenant_id            text NOT NULL,
    device               text NOT NULL,
    bundle               text NOT NULL,
    environment          text NOT NULL CHECK (environment IN ('sandbox', 'production')),
    push_to_start_token  text,
    supports_channels    boolean NOT NULL DEFAULT false,
    frequent             boolean NOT NULL DEFAULT false,
    topics               text[] NOT NULL DEFAULT '{}',
    showing              text[] NOT NULL DEFAULT '{}',   -- matches that it has a card of
    refused_reason       text,                           -- of the token; a new one revives it
    updated_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, device)
);

-- The pass of a match over the devices that follow it, in one environment. Its cursor is the last device recorded.
CREATE TABLE start_passes (
    tenant_id    text NOT NULL,
    match_id     text NOT NULL,
    environment  text NOT NULL,
    state        text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'running', 'done', 'cancelled')),
    due_at       timestamptz,                            -- when to look at it next
    start_until  timestamptz NOT NULL,                   -- nothing is started after this
    cursor       text NOT NULL DEFAULT '',
    lease_owner  text,
    began_at     timestamptz,
    PRIMARY KEY (tenant_id, match_id, environment)
);
CREATE INDEX start_passes_due_at ON start_passes (due_at) WHERE due_at IS NOT NULL;

-- At most one for each device and match. `sending` is written before a byte goes out: what is found so after a crash may
-- have arrived, counts as unknown and is never sent again.
CREATE TABLE starts (
    tenant_id    text NOT NULL,
    match_id     text NOT NULL,
    device       text NOT NULL,
    environment  text NOT NULL,
    state        text NOT NULL CHECK (state IN ('waiting', 'sending', 'accepted', 'unknown', 'refused', 'given_up')),
    sender       text,                                   -- the pass's lease when it was sent
    due_at       timestamptz,                            -- of one that waits
    attempts     smallint NOT NULL DEFAULT 0,
    reason       text,
    recorded_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, match_id, device)
);
CREATE INDEX starts_open ON starts (tenant_id, match_id, environment, state) WHERE state IN ('waiting', 'sending');
CREATE INDEX activities_device ON activities (tenant_id, match_id, device) WHERE device IS NOT NULL;

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['devices', 'start_passes', 'starts']
    LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO touchline_api', name);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format($policy$CREATE POLICY own_tenant ON %I TO touchline_api
            USING (tenant_id = current_setting('touchline.tenant', true))
            WITH CHECK (tenant_id = current_setting('touchline.tenant', true))$policy$, name);
    END LOOP;
END
$$;
