-- Hand tasks to an agent.
UPDATE tasks SET
    status = :status,
    fence = fence + 1,
    agent = :agent,
    model = :models ->> CAST(lane AS TEXT),
    lease_s = :lease_s,
    lease_expires_at = :lease_expires_at,
    claimed_at = :now,
    started_at = :started_at,
    renewed_at = NULL,
    confirmed = solo,
    progress = NULL,
    note = NULL,
    usage = NULL,
    retry_at = NULL,
    step_at = NULL,
    timeout_at = :started_at + CAST(round(timeout_s * 1000000) AS INTEGER),
    due_at = min(
        :lease_expires_at,
        coalesce(:started_at + CAST(round(timeout_s * 1000000) AS INTEGER), :lease_expires_at)
    ),
    updated_at = :now
WHERE n IN (SELECT value FROM json_each(:numbers))
