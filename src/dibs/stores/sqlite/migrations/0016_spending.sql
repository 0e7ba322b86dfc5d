-- What was spent lately is looked at every few seconds. An attempt that told nothing and had no model is not in it.
CREATE INDEX attempt_used ON attempts (ended_at)
    WHERE cost_usd IS NOT NULL OR model IS NOT NULL OR tokens_in IS NOT NULL OR tokens_out IS NOT NULL
        OR turns IS NOT NULL;
