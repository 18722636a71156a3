-- The first schema. Every tenant-owned table's key begins with tenant_id and is guarded by row-level security.
-- Nothing references a row that events update: no foreign keys to matches, targets or activities (multixacts).

CREATE TABLE tenants (
    tenant_id   text PRIMARY KEY,
    name        text NOT NULL,
    limits      jsonb NOT NULL DEFAULT '{}',
    paused_at   timestamptz,
    created_at  timestamptz NOT NULL DEFAULT now()
);

-- Keys of operators belong to no tenant. Only SHA-256 digests of secrets are kept.
CREATE TABLE operator_keys (
    key_id         text PRIMARY KEY,
    secret_sha256  bytea NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),
    expires_at     timestamptz,
    revoked_at     timestamptz
);

CREATE TABLE api_keys (
    tenant_id      text NOT NULL,
    key_id         text NOT NULL,
    role           text NOT NULL CHECK (role IN ('admin', 'feed', 'app', 'read')),
    secret_sha256  bytea NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),
    expires_at     timestamptz,
    revoked_at     timestamptz,
    PRIMARY KEY (tenant_id, key_id)
);
CREATE UNIQUE INDEX api_keys_key_id ON api_keys (key_id);

-- A new number whenever an app's credential changes: connections and provider tokens are bound to it, never to
-- team and key ids, which another tenant may type.
CREATE SEQUENCE credential_numbers;

CREATE TABLE apps (
    tenant_id                  text NOT NULL,
    bundle                     text NOT NULL,
    environment                text NOT NULL CHECK (environment IN ('sandbox', 'production')),
    credential_id              bigint NOT NULL DEFAULT nextval('credential_numbers'),
    team_id                    text NOT NULL,
    key_id                     text NOT NULL,
    p8_ciphertext              bytea NOT NULL,
    key_fingerprint            text NOT NULL,
    frequent_updates_declared  boolean NOT NULL DEFAULT false,
    channels                   text NOT NULL DEFAULT 'single' CHECK (channels IN ('single', 'by_cadence', 'none')),
    tokens                     boolean NOT NULL DEFAULT true,
    storage_policy             smallint NOT NULL DEFAULT 1 CHECK (storage_policy IN (0, 1)),
    frequent_gap_seconds       integer NOT NULL DEFAULT 5,
    frequent_urgent_per_hour   integer NOT NULL DEFAULT 120,
    standard_gap_seconds       integer NOT NULL DEFAULT 60,
    standard_urgent_per_hour   integer NOT NULL DEFAULT 15,
    stale_after                integer NOT NULL DEFAULT 900,
    channel_lead               integer NOT NULL DEFAULT 86400,
    channel_linger             integer NOT NULL DEFAULT 14400,
    start_lead                 integer NOT NULL DEFAULT 600,
    paused_at                  timestamptz,
    tokens_stopped             text,      -- why token sends stopped; NULL while they run
    channels_stopped           text,      -- why channel work stopped; NULL while it runs
    provider_token_ciphertext  bytea,     -- the JWT in use, shared by all processes
    provider_token_issued_at   timestamptz,
    created_at                 timestamptz NOT NULL DEFAULT now(),
    updated_at                 timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, bundle, environment)
);
CREATE UNIQUE INDEX apps_credential_id ON apps (credential_id);

CREATE TABLE activity_types (
    tenant_id        text NOT NULL,
    bundle           text NOT NULL,
    attributes_type  text NOT NULL,
    content_state    text NOT NULL,       -- the contract, JSON as it came
    attributes       text,
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, bundle, attributes_type)
);

-- A match is a desired state. The columns from `version` on change with every event and stand in no index.
CREATE TABLE matches (
    tenant_id          text NOT NULL,
    match_id           text NOT NULL,
    bundle             text NOT NULL,
    attributes_type    text NOT NULL,
    kickoff_at         timestamptz NOT NULL,
    topics             text[] NOT NULL DEFAULT '{}',
    attributes         text,
    start_alert        text,
    token_shards       smallint NOT NULL DEFAULT 1,
    created_at         timestamptz NOT NULL DEFAULT now(),
    updated_at         timestamptz NOT NULL DEFAULT now(),
    deleted_at         timestamptz,       -- a tombstone keeps version and stamp: phones remember them
    paused_at          timestamptz,
    housekeep_at       timestamptz,       -- when the housekeeper looks at it next
    status             text NOT NULL DEFAULT 'scheduled'
                       CHECK (status IN ('scheduled', 'live', 'ended', 'postponed', 'abandoned')),
    version            bigint NOT NULL DEFAULT 0,
    accepted_at        timestamptz NOT NULL DEFAULT now(),   -- of the newest version
    content_state      text NOT NULL,
    stale_after        integer,
    relevance_score    text,
    aps_extra          text,
    urgent_version     bigint NOT NULL DEFAULT 0,            -- the newest `key` version
    alert              text,                                 -- pending, JSON as it came
    alert_version      bigint NOT NULL DEFAULT 0,
    alert_expires_at   timestamptz,
    stamped_version    bigint NOT NULL DEFAULT 0,
    last_stamp         bigint NOT NULL DEFAULT 0,            -- UNIX seconds; the stamp of stamped_version
    merged_versions    bigint NOT NULL DEFAULT 0,            -- that were replaced before anything was sent
    last_sequence      bigint,
    last_occurred_at   timestamptz,
    end_requested_at   timestamptz,
    end_due_at         timestamptz,                          -- when the hold is over
    end_version        bigint,                               -- the version that goes out as `end`
    resend_at          timestamptz,                          -- for phones that come late to a channel of policy 0
    end_resends        smallint NOT NULL DEFAULT 0,
    dismiss_after      integer,
    PRIMARY KEY (tenant_id, match_id)
) WITH (fillfactor = 70);
CREATE INDEX matches_housekeep_at ON matches (housekeep_at) WHERE housekeep_at IS NOT NULL;
CREATE INDEX matches_bundle ON matches (tenant_id, bundle, match_id) WHERE deleted_at IS NULL;

-- What a feed posted, remembered for 48 hours at least.
CREATE TABLE events (
    tenant_id    text NOT NULL,
    match_id     text NOT NULL,
    event_id     text NOT NULL,
    body_digest  bytea NOT NULL,
    kind         text NOT NULL,
    importance   text NOT NULL,
    status       text NOT NULL CHECK (status IN ('accepted', 'superseded', 'ignored')),
    version      bigint NOT NULL,         -- that it became; for the others, the match's version then
    sequence     bigint,
    occurred_at  timestamptz,
    received_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, match_id, event_id)
);
CREATE INDEX events_received_at ON events USING brin (received_at);

CREATE TABLE channels (
    tenant_id       text NOT NULL,
    match_id        text NOT NULL,
    environment     text NOT NULL,
    cadence         text NOT NULL CHECK (cadence IN ('any', 'frequent', 'standard')),
    bundle          text NOT NULL,
    storage_policy  smallint NOT NULL,
    state           text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'open', 'deleted')),
    channel_id      text,
    next_at         timestamptz,          -- when it is to be created (pending) or deleted (open)
    attempts        integer NOT NULL DEFAULT 0,
    last_error      text,
    opened_at       timestamptz,
    replaced_at     timestamptz,
    deleted_at      timestamptz,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, match_id, environment, cadence)
);
CREATE INDEX channels_next_at ON channels (next_at) WHERE next_at IS NOT NULL;

-- One Live Activity on one phone. `row_no` never changes while the row stays where it is: sweeps run over it.
CREATE SEQUENCE activity_rows;
CREATE TABLE activities (
    tenant_id        text NOT NULL,
    match_id         text NOT NULL,
    activity         text NOT NULL,
    row_no           bigint NOT NULL DEFAULT nextval('activity_rows'),
    environment      text NOT NULL,
    cadence          text NOT NULL CHECK (cadence IN ('frequent', 'standard')),
    shard            smallint NOT NULL DEFAULT 0,
    token            text NOT NULL,
    device           text,
    registered_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    refused_reason   text,                -- set aside by APNs' answer; a new registration revives it
    PRIMARY KEY (tenant_id, match_id, activity)
);
CREATE INDEX activities_sweep ON activities (tenant_id, match_id, environment, cadence, shard, row_no)
    WHERE refused_reason IS NULL;

-- What has to be brought to the match's version. Only `due_at` is indexed, and only while it is set.
CREATE TABLE targets (
    tenant_id        text NOT NULL,
    match_id         text NOT NULL,
    kind             text NOT NULL CHECK (kind IN ('channel', 'tokens')),
    environment      text NOT NULL,
    cadence          text NOT NULL,
    shard            smallint NOT NULL DEFAULT 0,
    due_at           timestamptz,
    reached_version  bigint NOT NULL DEFAULT 0,
    taken_version    bigint NOT NULL DEFAULT 0,
    urgent_version   bigint NOT NULL DEFAULT 0,    -- the newest key version taken up
    alert_version    bigint NOT NULL DEFAULT 0,    -- the newest alert taken up
    cursor           bigint NOT NULL DEFAULT 0,    -- row_no of the last token of the last page committed
    turn_limit       bigint NOT NULL DEFAULT 0,    -- the highest row_no when the version was taken up
    turn_start       bigint,                       -- where the taken version was taken up; NULL: no turn runs
    turn_wrapped     boolean NOT NULL DEFAULT false,
    lap_start        bigint,
    lap_wrapped      boolean NOT NULL DEFAULT false,
    lap_urgent       boolean NOT NULL DEFAULT false,
    lap_priority     smallint NOT NULL DEFAULT 5,
    alert_start      bigint,                       -- where the alert was taken up; NULL: none pending
    alert_wrapped    boolean NOT NULL DEFAULT false,
    urgent_at        bigint[] NOT NULL DEFAULT '{}', -- priority-10 laps of the last hour, UNIX milliseconds
    routine_at       bigint,                       -- the last routine lap, UNIX milliseconds
    lease_owner      text,
    lease_epoch      bigint NOT NULL DEFAULT 0,
    lease_until      timestamptz,
    backoff          smallint NOT NULL DEFAULT 0,  -- failures in a row
    wanted           integer NOT NULL DEFAULT 0,   -- counts of the running turn
    accepted         integer NOT NULL DEFAULT 0,
    removed          integer NOT NULL DEFAULT 0,
    refused          integer NOT NULL DEFAULT 0,
    given_up         integer NOT NULL DEFAULT 0,
    resent           integer NOT NULL DEFAULT 0,
    downgraded       integer NOT NULL DEFAULT 0,
    first_push_at    timestamptz,
    last_push_at     timestamptz,
    PRIMARY KEY (tenant_id, match_id, kind, environment, cadence, shard)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX targets_due_at ON targets (due_at) WHERE due_at IS NOT NULL;

-- One token that needs a later push of its own. A claim moves `due_at` ahead; whoever finishes, deletes.
CREATE TABLE stragglers (
    tenant_id      text NOT NULL,
    match_id       text NOT NULL,
    activity       text NOT NULL,
    version        bigint NOT NULL,                -- that it failed to get, or lacked when it registered
    urgent         boolean NOT NULL DEFAULT false,
    alert_version  bigint NOT NULL DEFAULT 0,      -- the alert that it has not had; 0: none
    attempts       smallint NOT NULL DEFAULT 0,
    due_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    first_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, match_id, activity)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX stragglers_due_at ON stragglers (due_at);

-- What became of finished turns; stragglers' pushes are added up per version under kind `stragglers`.
CREATE TABLE turns (
    tenant_id      text NOT NULL,
    match_id       text NOT NULL,
    kind           text NOT NULL CHECK (kind IN ('channel', 'tokens', 'stragglers')),
    environment    text NOT NULL,
    cadence        text NOT NULL,
    shard          smallint NOT NULL DEFAULT 0,
    to_version     bigint NOT NULL,
    from_version   bigint NOT NULL,
    wanted         integer NOT NULL DEFAULT 0,
    accepted       integer NOT NULL DEFAULT 0,
    removed        integer NOT NULL DEFAULT 0,
    refused        integer NOT NULL DEFAULT 0,
    given_up       integer NOT NULL DEFAULT 0,
    resent         integer NOT NULL DEFAULT 0,
    downgraded     integer NOT NULL DEFAULT 0,
    priority       smallint NOT NULL DEFAULT 5,
    accepted_at    timestamptz,                    -- when the version's event was accepted
    first_push_at  timestamptz,
    last_push_at   timestamptz,
    PRIMARY KEY (tenant_id, match_id, kind, environment, cadence, shard, to_version)
);

-- The API works as a role that owns nothing, so that row-level security holds for it. Roles belong to the whole
-- cluster: another database's migration may make it in this very moment.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'touchline_api') THEN
        BEGIN
            CREATE ROLE touchline_api NOLOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
    END IF;
    IF NOT pg_has_role(current_user, 'touchline_api', 'MEMBER') THEN
        BEGIN
            EXECUTE format('GRANT touchline_api TO %I', current_user);
        EXCEPTION WHEN unique_violation OR internal_error THEN
            NULL;
        END;
    END IF;
END
$$;

DO $$
DECLARE
    name text;
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO touchline_api', current_schema());
    FOREACH name IN ARRAY ARRAY['tenants', 'api_keys', 'apps', 'activity_types', 'matches', 'events', 'channels',
                                'activities', 'targets', 'stragglers', 'turns']
    LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO touchline_api', name);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format($policy$CREATE POLICY own_tenant ON %I TO touchline_api
            USING (tenant_id = current_setting('touchline.tenant', true))
            WITH CHECK (tenant_id = current_setting('touchline.tenant', true))$policy$, name);
    END LOOP;
    GRANT USAGE ON SEQUENCE credential_numbers, activity_rows TO touchline_api;
END
$$;
