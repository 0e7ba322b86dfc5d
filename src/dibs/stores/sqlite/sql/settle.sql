-- Tasks that completed without further ado: ?1 their numbers, ?2 now.
UPDATE tasks SET
    status = 'completed',
    completed_at = ?2,
    updated_at = ?2,
    attempts = attempts + 1,
    releases = 0,
    solo = (max_attempts = 1),
    poison_pill = 0,
    due_at = NULL,
    lease_expires_at = NULL,
    timeout_at = NULL,
    retry_at = NULL,
    confirmed = 0,
    error = NULL,
    reason = NULL,
    exit_code = NULL,
    output_fence = fence,
    output_sanitized = 0
WHERE n IN (SELECT value FROM json_each(?1))
