-- Work that was handed in and is being judged: nobody holds it, so `validating` is no status of held tasks any more. No
-- task has been in it so far.
-- Locks: everything in `work`, for as long as it takes to read those that wait.
LOCK TABLE dibs.work IN ACCESS EXCLUSIVE MODE;
ALTER TABLE dibs.work DETACH PARTITION dibs.held;
ALTER TABLE dibs.work ATTACH PARTITION dibs.held FOR VALUES IN ('claimed', 'running');
CREATE INDEX waiting_handed_in ON dibs.waiting (n) WHERE status = 'validating';

-- What was made, until it is judged; then it is in `ended`, or nowhere.
CREATE TABLE dibs.submitted (
    n bigint PRIMARY KEY,
    output_sanitized boolean NOT NULL,
    output text COLLATE "C",    -- JSON, as is decision
    decision text COLLATE "C"
);
