-- A push-to-start token is one phone's: whoever reports it last has it, under whichever id.
CREATE INDEX devices_token ON devices (tenant_id, push_to_start_token) WHERE push_to_start_token IS NOT NULL;
