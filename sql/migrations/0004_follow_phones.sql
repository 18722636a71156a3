-- Phones that register, rotate and are refused, exactly told apart from those that a sweep sends to; counts per version.

-- The transaction that last registered the row. A sweep of a version sends to the rows whose registration the version's
-- stamp has seen; any other row is its straggler's. Nothing is sent twice so, and nobody is missed.
ALTER TABLE activities ADD COLUMN registered_xid xid8 NOT NULL DEFAULT pg_current_xact_id();
ALTER TABLE activities ADD COLUMN refused_at timestamptz;
CREATE INDEX activities_refused ON activities (tenant_id, match_id) WHERE refused_reason IS NOT NULL;

ALTER TABLE matches ADD COLUMN stamp_snapshot pg_snapshot;             -- what the newest version's stamp has seen
ALTER TABLE matches ADD COLUMN alert_snapshot pg_snapshot;             -- the same of the pending alert's version

-- The match's version when the target was made: nothing sweeps that, or an older one, to its tokens.
ALTER TABLE targets ADD COLUMN made_version bigint NOT NULL DEFAULT 0;

ALTER TABLE apps ADD COLUMN tokens_stopped_at timestamptz;             -- kept until what was refused then is revived

-- merged: phones that a newer version reached instead; handed: left to a push of their own, and counted with those;
-- held_at: since when pacing held the version back.
ALTER TABLE targets ADD COLUMN merged integer NOT NULL DEFAULT 0, ADD COLUMN handed integer NOT NULL DEFAULT 0,
    ADD COLUMN held_at timestamptz;
-- Of stragglers, handed are those of `wanted` that a sweep had handed over, and over those that the bound of a match left
-- without a push of their own. superseded: a sweep took up a newer version before it had come round with this one.
ALTER TABLE turns ADD COLUMN merged integer NOT NULL DEFAULT 0, ADD COLUMN handed integer NOT NULL DEFAULT 0,
    ADD COLUMN over integer NOT NULL DEFAULT 0, ADD COLUMN held_at timestamptz,
    ADD COLUMN superseded boolean NOT NULL DEFAULT false;

-- The line in `turns` that it is counted with, and whether the sweep's line has it as handed.
ALTER TABLE stragglers ADD COLUMN environment text NOT NULL DEFAULT 'production';
ALTER TABLE stragglers ADD COLUMN cadence text NOT NULL DEFAULT 'standard';
ALTER TABLE stragglers ADD COLUMN shard smallint NOT NULL DEFAULT 0;
ALTER TABLE stragglers ADD COLUMN is_handed boolean NOT NULL DEFAULT false;
-- The row that its phone had before, where a sweep may have sent the alert to it: decided once the sweep has passed it.
ALTER TABLE stragglers ADD COLUMN doubt_cadence text;
ALTER TABLE stragglers ADD COLUMN doubt_shard smallint;
ALTER TABLE stragglers ADD COLUMN doubt_row bigint;
CREATE INDEX stragglers_doubt ON stragglers (tenant_id, match_id, doubt_row) WHERE doubt_row IS NOT NULL;
