-- Tenants can share an app, as two brands of one publisher do: APNs' list is the app's, whoever made what is on it. So one
-- process at a time makes the channels of a bundle, and what is any tenant's is nobody else's.

DROP POLICY own_tenant ON channel_makers;
ALTER TABLE channel_makers DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON channel_makers FROM touchline_api;

UPDATE channel_makers k SET lease_owner = NULL, lease_until = NULL, strangers = ARRAY(
    SELECT DISTINCT s FROM channel_makers o, unnest(o.strangers) s
    WHERE (o.bundle, o.environment) = (k.bundle, k.environment) AND NOT EXISTS (
        SELECT FROM channel_ids i WHERE (i.bundle, i.environment, i.channel_id) = (o.bundle, o.environment, s)));
DELETE FROM channel_makers a USING channel_makers b
    WHERE (a.bundle, a.environment) = (b.bundle, b.environment) AND a.tenant_id > b.tenant_id;
ALTER TABLE channel_makers DROP COLUMN tenant_id, ADD PRIMARY KEY (bundle, environment);

CREATE INDEX channel_ids_channel_id ON channel_ids (bundle, environment, channel_id);
CREATE INDEX channels_creating_at ON channels (bundle, environment) WHERE creating_at IS NOT NULL;
