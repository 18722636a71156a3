-- An update token is one activity's: whoever reported it last has it, under whichever id. A hash, since tokens may be long; a
-- column, since an index on an expression is not used under row-level security; and without the tenant, since what looks for an
-- activity by its key must not take this index while PostgreSQL knows nothing of the table.
ALTER TABLE activities ADD COLUMN token_hash bigint GENERATED ALWAYS AS (hashtextextended(token, 0)) STORED;
CREATE INDEX activities_token ON activities (token_hash);
