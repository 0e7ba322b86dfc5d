-- A claim ends because its task waits: for its children (`pending`) or for a person (`waiting`). No attempt is counted.
-- `w` is the row of `work`, locked by the caller, who tells of it.
CREATE OR REPLACE FUNCTION dibs.suspend(w dibs.work, p_status text, p_usage jsonb, p_at bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    used jsonb := dibs.merge_usage(w.usage, p_usage);
BEGIN
    INSERT INTO dibs.attempts (
        n, fence, number, agent, model, outcome, status, digest, reason, started_at, ended_at, cost_usd, tokens_in,
        tokens_out, turns, price
    ) VALUES (
        w.n, w.fence, 0, coalesce(w.agent, ''), coalesce(used->>'model', w.model), 'suspended', p_status, '',
        'suspended', w.started_at, p_at, (used->>'cost_usd')::float8, (used->>'tokens_in')::bigint,
        (used->>'tokens_out')::bigint, (used->>'turns')::bigint, used->>'price'
    );
    UPDATE dibs.work x SET
        status = p_status, agent = NULL, lease_expires_at = NULL, timeout_at = NULL, due_at = NULL, confirmed = false,
        cost_usd = dibs.plus(x.cost_usd, (used->>'cost_usd')::float8),
        tokens_in = dibs.plus(x.tokens_in, (used->>'tokens_in')::bigint),
        tokens_out = dibs.plus(x.tokens_out, (used->>'tokens_out')::bigint),
        turns = dibs.plus(x.turns, (used->>'turns')::bigint),
        updated_at = p_at
    WHERE x.n = w.n;
END $$;
