-- Channels: creations whose answer is not in the books yet, and every id that was ever made here.

-- A creation was begun then, and its answer is not recorded: APNs may have a channel that nobody knows.
ALTER TABLE channels ADD COLUMN creating_at timestamptz;

-- Every channel that was made for a match. APNs lists ids and nothing else: what is not here is somebody else's.
CREATE TABLE channel_ids (
    tenant_id    text NOT NULL,
    bundle       text NOT NULL,
    environment  text NOT NULL,
    channel_id   text NOT NULL,
    match_id     text NOT NULL,
    cadence      text NOT NULL,
    opened_at    timestamptz NOT NULL DEFAULT now(),
    gone_at      timestamptz,             -- APNs said that it has it no longer
    PRIMARY KEY (tenant_id, bundle, environment, channel_id)
);
CREATE INDEX channel_ids_gone_at ON channel_ids (gone_at) WHERE gone_at IS NOT NULL;
INSERT INTO channel_ids (tenant_id, bundle, environment, channel_id, match_id, cadence, opened_at, gone_at)
    SELECT tenant_id, bundle, environment, channel_id, match_id, cadence, coalesce(opened_at, created_at),
           CASE WHEN state = 'deleted' THEN coalesce(deleted_at, now()) END
    FROM channels WHERE channel_id IS NOT NULL ON CONFLICT DO NOTHING;

-- One process at a time makes an app's channels, so that an id which appears while a creation is in doubt is that one's.
CREATE TABLE channel_makers (
    tenant_id    text NOT NULL,
    bundle       text NOT NULL,
    environment  text NOT NULL,
    strangers    text[] NOT NULL DEFAULT '{}',  -- ids that were not ours when the last creations were begun
    lease_owner  text,
    lease_until  timestamptz,
    PRIMARY KEY (tenant_id, bundle, environment)
);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['channel_ids', 'channel_makers']
    LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO touchline_api', name);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format($policy$CREATE POLICY own_tenant ON %I TO touchline_api
            USING (tenant_id = current_setting('touchline.tenant', true))
            WITH CHECK (tenant_id = current_setting('touchline.tenant', true))$policy$, name);
    END LOOP;
END
$$;
