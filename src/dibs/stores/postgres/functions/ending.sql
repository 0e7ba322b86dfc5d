-- How a task leaves `work`, and what an attempt has used.

CREATE OR REPLACE FUNCTION dibs.plus(a float8, b float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN a IS NULL THEN b WHEN b IS NULL THEN a ELSE a + b END $$;

CREATE OR REPLACE FUNCTION dibs.plus(a bigint, b bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN a IS NULL THEN b WHEN b IS NULL THEN a ELSE a + b END $$;

-- Usage is told as totals: what is told replaces what was known, field by field. A cost with a price was computed: it
-- does not replace what the agent itself told, and is unknown once there are newer tokens that nobody could price.
CREATE OR REPLACE FUNCTION dibs.merge_usage(known text, told jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN t ? 'cost_usd' AND t ? 'price' AND k ? 'cost_usd' AND NOT k ? 'price' THEN k || (t - 'cost_usd' - 'price')
        WHEN t ? 'cost_usd' THEN (k - 'price') || t
        WHEN (t ? 'tokens_in' OR t ? 'tokens_out') AND k ? 'price' THEN (k - 'cost_usd' - 'price') || t
        ELSE k || t
    END
    FROM (
        SELECT coalesce(known::jsonb, '{}') AS k, coalesce(jsonb_strip_nulls(nullif(told, 'null')), '{}') AS t
    ) m
$$;

-- Move a task whose final state is in `w` from `work` to `ended`. `p_held`: somebody still works on it (it was
-- cancelled), and that attempt is written later.
CREATE OR REPLACE FUNCTION dibs.end_task(
    w dibs.work, p_at bigint, p_held boolean, p_output text DEFAULT NULL, p_decision text DEFAULT NULL,
    p_artifacts text DEFAULT NULL, p_sanitized boolean DEFAULT false, p_reason text DEFAULT NULL,
    p_cancel_reason text DEFAULT NULL, p_cause text DEFAULT NULL, p_requested boolean DEFAULT false
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM dibs.work x WHERE x.n = w.n;
    INSERT INTO dibs.ended (
        n, ended_at, updated_at, fence, ready_at, claimed_at, started_at, renewed_at, rank, priority, boost, lane, bytes,
        open, deps, attempts, crashes, releases, weight, ties, overdue, poison_pill, output_sanitized, requested, marked,
        status, agent, model, output, decision, artifacts, timeout_s, run_after, deadline, retry_at, due_at, lease_s,
        lease_expires_at, progress, exit_code, cost_usd, tokens_in, tokens_out, turns, note, usage, reason, error,
        cancel_reason, cause
    ) VALUES (
        w.n, p_at, p_at, w.fence, w.ready_at, w.claimed_at, w.started_at, w.renewed_at, w.rank, w.priority, w.boost, w.lane,
        w.bytes, w.open, w.deps, w.attempts, w.crashes, w.releases, w.weight, w.ties, w.overdue, w.poison_pill, p_sanitized,
        p_requested, w.status = 'cancelled', w.status, w.agent, w.model, p_output, p_decision, p_artifacts, w.timeout_s,
        w.run_after, w.deadline, w.retry_at, CASE WHEN p_held THEN w.lease_expires_at END, w.lease_s,
        CASE WHEN p_held THEN w.lease_expires_at END, w.progress, w.exit_code, w.cost_usd, w.tokens_in, w.tokens_out,
        w.turns, w.note, w.usage, CASE WHEN w.status = 'cancelled' THEN p_reason ELSE w.reason END, w.error,
        p_cancel_reason, p_cause
    );
END $$;

-- The attempt of a task that was cancelled while held: its agent spoke up, or its lease is over. The row of `ended` is
-- locked by the caller.
CREATE OR REPLACE FUNCTION dibs.write_cancelled_attempt(p_n bigint, p_at bigint, p_told jsonb DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    e dibs.ended%ROWTYPE;
    used jsonb;
BEGIN
    SELECT * INTO e FROM dibs.ended WHERE n = p_n;
    used := dibs.merge_usage(e.usage, p_told);
    INSERT INTO dibs.attempts (
        n, fence, number, agent, model, outcome, status, digest, reason, error, fingerprint, exit_code, retry_at,
        started_at, ended_at, cost_usd, tokens_in, tokens_out, turns, price
    ) VALUES (
        p_n, e.fence, 0, coalesce(e.agent, ''), coalesce(used->>'model', e.model), 'cancelled', 'cancelled', '', e.reason,
        NULL, NULL, NULL, NULL, e.started_at, p_at, (used->>'cost_usd')::float8, (used->>'tokens_in')::bigint,
        (used->>'tokens_out')::bigint, (used->>'turns')::bigint, used->>'price'
    );
    UPDATE dibs.ended x SET
        cost_usd = dibs.plus(x.cost_usd, (used->>'cost_usd')::float8),
        tokens_in = dibs.plus(x.tokens_in, (used->>'tokens_in')::bigint),
        tokens_out = dibs.plus(x.tokens_out, (used->>'tokens_out')::bigint),
        turns = dibs.plus(x.turns, (used->>'turns')::bigint),
        due_at = NULL, lease_expires_at = NULL, updated_at = p_at
    WHERE x.n = p_n;
END $$;

-- A retired lane comes back into use.
CREATE OR REPLACE FUNCTION dibs.use_lane(p_lane integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE dibs.lanes SET retired_at = NULL, idle_since = NULL WHERE id = p_lane AND retired_at IS NOT NULL;
    IF FOUND THEN
        PERFORM dibs.change_lanes();
    END IF;
END $$;
