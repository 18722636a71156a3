-- A match without events ends by itself. After how long is a setting of its app, in seconds; NULL on a match: its app's.
ALTER TABLE apps ADD COLUMN ends_after_silence integer NOT NULL DEFAULT 129600;
ALTER TABLE matches ADD COLUMN ends_after_silence integer;
