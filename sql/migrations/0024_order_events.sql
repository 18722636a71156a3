-- What an event means beside those that came before it: a feed that counts anew, and one goal that two feeds report.

-- Canonical digests of the newest state and of the newest alert, and when the feed began to count anew.
ALTER TABLE matches ADD COLUMN state_digest bytea, ADD COLUMN alert_digest bytea, ADD COLUMN sequence_since timestamptz;
-- What the answer warned of, so that a repetition is answered alike.
ALTER TABLE events ADD COLUMN warnings text[];

DROP FUNCTION touchline_accept(text, text, text, bytea, text, text, bigint, timestamptz, text, text, integer, integer, text,
    text, double precision, double precision);

-- As in 0002, but for these. A sequence that is lower by more than `p_restart_drop`, or at most `p_restart_floor`, and
-- happened later than the newest event, begins the order anew; what was counted before then is older, whatever its sequence
-- (`EventOrder` in Core is the same rule). An alert that equals the pending one, with a state that equals the newest, is
-- no second alert.
CREATE FUNCTION touchline_accept(
    p_tenant text, p_match text, p_event text, p_digest bytea, p_kind text, p_importance text,
    p_sequence bigint, p_occurred_at timestamptz, p_content_state text, p_alert text,
    p_stale_after integer, p_dismiss_after integer, p_relevance_score text, p_aps_extra text,
    p_alert_seconds double precision, p_hold_seconds double precision,
    p_state_digest bytea, p_alert_digest bytea, p_restart_drop bigint, p_restart_floor bigint,
    OUT answer text, OUT version bigint, OUT warnings text[],
    OUT newest_sequence bigint, OUT newest_occurred_at timestamptz, OUT restarted_at timestamptz
) LANGUAGE plpgsql AS $$
DECLARE
    m matches;
    known events;
    is_key boolean := p_importance = 'key' OR p_kind = 'end' OR p_alert IS NOT NULL;
    is_exempt boolean := p_kind IN ('correction', 'end');
    -- Only the transaction's start is the same for a whole bulk; each event has its own time.
    at timestamptz := clock_timestamp();
    is_former boolean;
    happened_before boolean;
    restarts boolean := false;
    repeats_alert boolean;
BEGIN
    SELECT * INTO m FROM matches AS x
        WHERE x.tenant_id = p_tenant AND x.match_id = p_match AND x.deleted_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        answer := 'not_found';
        RETURN;
    END IF;
    version := m.version;
    newest_sequence := m.last_sequence;
    newest_occurred_at := m.last_occurred_at;
    restarted_at := m.sequence_since;

    SELECT * INTO known FROM events AS e
        WHERE e.tenant_id = p_tenant AND e.match_id = p_match AND e.event_id = p_event;
    IF FOUND THEN
        version := known.version;
        warnings := known.warnings;
        answer := CASE WHEN known.body_digest = p_digest THEN known.status || '_replayed' ELSE 'conflict' END;
        RETURN;
    END IF;

    -- NULL, no order, where either is not known.
    is_former := coalesce(p_occurred_at < m.sequence_since, false);
    IF p_sequence IS NULL OR m.last_sequence IS NULL THEN
        happened_before := p_occurred_at < m.last_occurred_at;
    ELSIF is_former THEN
        happened_before := true;
    ELSE
        happened_before := p_sequence < m.last_sequence;
        restarts := NOT is_exempt AND happened_before AND coalesce(p_occurred_at > m.last_occurred_at, false)
            AND (m.last_sequence - p_sequence > p_restart_drop OR p_sequence <= p_restart_floor);
    END IF;

    IF m.end_version IS NOT NULL THEN
        answer := 'ignored';
    ELSIF happened_before AND NOT is_exempt AND NOT restarts THEN
        answer := 'superseded';
    ELSE
        answer := 'accepted';
        version := m.version + 1;
        IF restarts THEN
            warnings := warnings || 'sequence_restarted'::text;
        END IF;
        repeats_alert := coalesce(p_alert_digest = m.alert_digest AND m.alert IS NOT NULL AND m.alert_expires_at > at
            AND coalesce(p_state_digest, m.state_digest) = m.state_digest, false);
        IF repeats_alert THEN
            -- Whoever lacks the alert is still behind the version that brought it.
            is_key := p_kind = 'end';
            warnings := warnings || 'duplicate_alert'::text;
        END IF;
    END IF;

    INSERT INTO events (tenant_id, match_id, event_id, body_digest, kind, importance, status, version, sequence,
                        occurred_at, received_at, warnings)
        VALUES (p_tenant, p_match, p_event, p_digest, p_kind, p_importance, answer, touchline_accept.version,
                p_sequence, p_occurred_at, at, touchline_accept.warnings);
    IF answer <> 'accepted' THEN
        RETURN;
    END IF;

    UPDATE matches AS x SET
        version = touchline_accept.version,
        accepted_at = at,
        status = CASE WHEN m.status = 'ended' THEN m.status ELSE 'live' END,
        content_state = coalesce(p_content_state, m.content_state),
        state_digest = coalesce(p_state_digest, m.state_digest),
        stale_after = p_stale_after,
        relevance_score = p_relevance_score,
        aps_extra = p_aps_extra,
        urgent_version = CASE WHEN is_key THEN touchline_accept.version ELSE m.urgent_version END,
        alert = CASE WHEN repeats_alert THEN m.alert WHEN p_alert IS NOT NULL THEN p_alert
                     WHEN p_kind = 'correction' THEN NULL ELSE m.alert END,
        alert_digest = coalesce(p_alert_digest, m.alert_digest),
        alert_version = CASE WHEN p_alert IS NOT NULL AND NOT repeats_alert THEN touchline_accept.version
                             ELSE m.alert_version END,
        alert_expires_at = CASE WHEN p_alert IS NOT NULL AND NOT repeats_alert
                                THEN at + make_interval(secs => p_alert_seconds) ELSE m.alert_expires_at END,
        last_sequence = CASE WHEN restarts THEN p_sequence WHEN is_former THEN m.last_sequence
                             ELSE greatest(m.last_sequence, p_sequence) END,
        last_occurred_at = greatest(m.last_occurred_at, p_occurred_at),
        sequence_since = CASE WHEN restarts THEN p_occurred_at ELSE m.sequence_since END,
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
