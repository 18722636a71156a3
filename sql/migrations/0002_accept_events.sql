-- An event's acceptance in one round trip: one lock on the match's row, one transaction, answers as rows.
-- A function and not statements, since what is written depends on the row that was locked; each statement inside
-- sees what was committed before the lock was granted.

-- Marks what is behind. A target that is due already stays as it is, unless the version is `key`: that brings a
-- paced due time forward. One that backs off is tried again with whatever is newer.
CREATE FUNCTION touchline_mark_due(p_tenant text, p_match text, p_key boolean) RETURNS void LANGUAGE sql AS $$
    UPDATE targets SET due_at = clock_timestamp()
    WHERE tenant_id = p_tenant AND match_id = p_match
      AND (due_at IS NULL OR (due_at > clock_timestamp() AND (p_key OR backoff > 0)));
$$;

-- APNs keeps nothing on a channel of policy 0: the newest state is sent once more for phones that come late.
CREATE FUNCTION touchline_plan_resend(p_tenant text, p_match text, p_at timestamptz) RETURNS void LANGUAGE sql AS $$
    UPDATE matches SET resend_at = p_at, housekeep_at = least(housekeep_at, p_at)
    WHERE tenant_id = p_tenant AND match_id = p_match AND EXISTS (
        SELECT FROM channels c WHERE c.tenant_id = p_tenant AND c.match_id = p_match AND c.storage_policy = 0
          AND c.state = 'open');
$$;

CREATE FUNCTION touchline_accept(
    p_tenant text, p_match text, p_event text, p_digest bytea, p_kind text, p_importance text,
    p_sequence bigint, p_occurred_at timestamptz, p_content_state text, p_alert text,
    p_stale_after integer, p_dismiss_after integer, p_relevance_score text, p_aps_extra text,
    p_alert_seconds double precision, p_hold_seconds double precision,
    OUT answer text, OUT version bigint
) LANGUAGE plpgsql AS $$
DECLARE
    m matches;
    known events;
    is_key boolean := p_importance = 'key' OR p_kind = 'end' OR p_alert IS NOT NULL;
    -- Only the transaction's start is the same for a whole bulk; each event has its own time.
    at timestamptz := clock_timestamp();
    happened_before boolean;
BEGIN
    SELECT * INTO m FROM matches AS x
        WHERE x.tenant_id = p_tenant AND x.match_id = p_match AND x.deleted_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        answer := 'not_found';
        RETURN;
    END IF;
    version := m.version;
    IF p_sequence IS NOT NULL AND m.last_sequence IS NOT NULL THEN
        happened_before := p_sequence < m.last_sequence;
    ELSE
        happened_before := p_occurred_at < m.last_occurred_at;  -- NULL, no order, where either is not known
    END IF;

    SELECT * INTO known FROM events AS e
        WHERE e.tenant_id = p_tenant AND e.match_id = p_match AND e.event_id = p_event;
    IF FOUND THEN
        version := known.version;
        answer := CASE WHEN known.body_digest = p_digest THEN known.status || '_replayed' ELSE 'conflict' END;
        RETURN;
    END IF;

    IF m.end_version IS NOT NULL THEN
        answer := 'ignored';
    ELSIF p_kind IN ('update', 'heartbeat') AND happened_before THEN
        answer := 'superseded';
    ELSE
        answer := 'accepted';
        version := m.version + 1;
    END IF;

    INSERT INTO events (tenant_id, match_id, event_id, body_digest, kind, importance, status, version, sequence,
                        occurred_at, received_at)
        VALUES (p_tenant, p_match, p_event, p_digest, p_kind, p_importance, answer, touchline_accept.version,
                p_sequence, p_occurred_at, at);
    IF answer <> 'accepted' THEN
        RETURN;
    END IF;

    UPDATE matches AS x SET
        version = touchline_accept.version,
        accepted_at = at,
        status = CASE WHEN m.status = 'ended' THEN m.status ELSE 'live' END,
        content_state = coalesce(p_content_state, m.content_state),
        stale_after = p_stale_after,
        relevance_score = p_relevance_score,
        aps_extra = p_aps_extra,
        urgent_version = CASE WHEN is_key THEN touchline_accept.version ELSE m.urgent_version END,
        alert = CASE WHEN p_alert IS NOT NULL THEN p_alert WHEN p_kind = 'correction' THEN NULL ELSE m.alert END,
        alert_version = CASE WHEN p_alert IS NOT NULL THEN touchline_accept.version ELSE m.alert_version END,
        alert_expires_at = CASE WHEN p_alert IS NOT NULL THEN at + make_interval(secs => p_alert_seconds)
                                ELSE m.alert_expires_at END,
        last_sequence = greatest(m.last_sequence, p_sequence),
        last_occurred_at = greatest(m.last_occurred_at, p_occurred_at),
        end_requested_at = CASE WHEN p_kind = 'end' THEN coalesce(m.end_requested_at, at)
                                ELSE m.end_requested_at END,
        end_due_at = CASE WHEN p_kind = 'end' THEN coalesce(m.end_due_at, at + make_interval(secs => p_hold_seconds))
                          ELSE m.end_due_at END,
        dismiss_after = CASE WHEN p_kind = 'end' THEN p_dismiss_after ELSE m.dismiss_after END,
        housekeep_at = CASE WHEN p_kind = 'end'
                            THEN least(m.housekeep_at, at + make_interval(secs => p_hold_seconds))
                            ELSE m.housekeep_at END
    WHERE x.tenant_id = p_tenant AND x.match_id = p_match;

    IF is_key AND p_kind <> 'end' THEN
        PERFORM touchline_plan_resend(p_tenant, p_match, at + interval '30 seconds');
    END IF;
    PERFORM touchline_mark_due(p_tenant, p_match, is_key);
END
$$;

-- Makes the end of a match its newest version, once. Returns that version, or NULL where nothing was to be done.
CREATE FUNCTION touchline_end(p_tenant text, p_match text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    m matches;
BEGIN
    SELECT * INTO m FROM matches AS x WHERE x.tenant_id = p_tenant AND x.match_id = p_match FOR UPDATE;
    IF NOT FOUND OR m.end_version IS NOT NULL THEN
        RETURN NULL;
    END IF;
    UPDATE matches AS x SET
        version = m.version + 1,
        end_version = m.version + 1,
        urgent_version = m.version + 1,
        accepted_at = clock_timestamp(),
        end_requested_at = coalesce(m.end_requested_at, clock_timestamp()),
        status = CASE WHEN m.status IN ('postponed', 'abandoned') THEN m.status ELSE 'ended' END
    WHERE x.tenant_id = p_tenant AND x.match_id = p_match;
    PERFORM touchline_plan_resend(p_tenant, p_match, clock_timestamp() + interval '1 minute');
    PERFORM touchline_mark_due(p_tenant, p_match, true);
    RETURN m.version + 1;
END
$$;

-- Sends the newest state once more on the match's channels of policy 0: a version of its own without an event, hence a
-- new stamp, without urgency or alert. Targets at rest that keep what they are sent count as having it. An end goes
-- again 1, 5, 30 and 120 minutes after the first. Returns the version.
CREATE FUNCTION touchline_resend(p_tenant text, p_match text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    m matches;
BEGIN
    SELECT * INTO m FROM matches AS x WHERE x.tenant_id = p_tenant AND x.match_id = p_match FOR UPDATE;
    IF NOT FOUND OR m.resend_at IS NULL OR m.resend_at > clock_timestamp() THEN
        RETURN NULL;
    END IF;
    UPDATE matches AS x SET
        version = m.version + 1,
        end_version = CASE WHEN m.end_version = m.version THEN m.version + 1 ELSE m.end_version END,
        end_resends = m.end_resends + CASE WHEN m.end_version IS NULL THEN 0 ELSE 1 END,
        resend_at = CASE WHEN m.end_version IS NULL THEN NULL
            ELSE m.resend_at + (ARRAY['4 minutes', '25 minutes', '90 minutes']::interval[])[m.end_resends + 1] END
    WHERE x.tenant_id = p_tenant AND x.match_id = p_match;
    UPDATE targets AS t SET reached_version = m.version + 1, taken_version = m.version + 1
    WHERE t.tenant_id = p_tenant AND t.match_id = p_match AND t.due_at IS NULL AND t.turn_start IS NULL
      AND t.reached_version = m.version
      AND NOT (t.kind = 'channel' AND EXISTS (
          SELECT FROM channels c WHERE (c.tenant_id, c.match_id, c.environment, c.cadence)
              = (t.tenant_id, t.match_id, t.environment, t.cadence) AND c.storage_policy = 0));
    UPDATE targets AS t SET due_at = clock_timestamp()
    WHERE t.tenant_id = p_tenant AND t.match_id = p_match AND t.due_at IS NULL AND t.reached_version <= m.version;
    RETURN m.version + 1;
END
$$;
