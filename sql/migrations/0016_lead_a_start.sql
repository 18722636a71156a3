-- How long before its kick-off a match is started on its followers' phones, where it says so itself; NULL: as its app does.

ALTER TABLE matches ADD COLUMN start_lead integer CHECK (start_lead BETWEEN 0 AND 86400);
