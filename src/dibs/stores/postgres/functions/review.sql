-- Record one decision about each of these dead letters and carry it out; each is answered by itself, in the order given.
--
-- p_payload, p_bytes, p_hash, p_delay_s, p_keep_steps: for retries, as for `revive`. p_told: what the event carries, JSON.
-- p_question, p_schema: what is asked of whom it is escalated to (NULL: the usual), and what an answer looks like.
-- Answers `words`, with the name of a refusal where one is due, and its `facts`; and the others as `whole` has them.
-- Locks: for retries as `revive`; task rows by number, keys in order, dag rows.
CREATE OR REPLACE FUNCTION dibs.review(
    p_now bigint, p_ids text[], p_resolution text, p_by text, p_note text, p_to text, p_told text, p_payload text,
    p_bytes integer, p_hash text, p_delay_s float8, p_keep_steps boolean, p_question text, p_schema text,
    OUT at bigint, OUT words text[], OUT facts text[], OUT whole text
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
-- Also for `revive`, which plans for longer than it works; here it is called again and again.
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_variable
DECLARE
    retries CONSTANT boolean := p_resolution IN ('retried', 'retried_modified');
    task record;
    word text;
    fact text;
    asked text;
    done bigint[] := '{}';
    touched text[] := '{}';
BEGIN
    words := array_fill(NULL::text, ARRAY[cardinality(p_ids)]);
    facts := words;
    IF retries THEN
        PERFORM dibs.hold_floors();
        PERFORM dibs.hold_links();
    END IF;
    -- All rows before the first key or dag, as everybody does; for retries with those that may come back.
    PERFORM dibs.lock_tasks(ARRAY(
        SELECT s.n FROM dibs.specs s WHERE s.id = ANY (p_ids)
        UNION
        SELECT e.n FROM dibs.ended e WHERE retries AND e.cause = ANY (p_ids) AND e.status = 'cancelled'
    ));
    at := coalesce(p_now, dibs.micros());
    FOR i IN 1 .. cardinality(p_ids) LOOP
        SELECT s.n, s.id, s.dag, coalesce(w.status, e.status) AS status, coalesce(w.fence, e.fence) AS fence, e.agent
        INTO task
        FROM dibs.specs s LEFT JOIN dibs.work w ON w.n = s.n LEFT JOIN dibs.ended e ON e.n = s.n WHERE s.id = p_ids[i];
        IF NOT FOUND THEN
            words[i] := 'no_task';
            facts[i] := json_build_array(p_ids[i]);
            CONTINUE;
        END IF;
        IF task.status <> 'dead_lettered' THEN
            words[i] := 'no_dead_letter';
            facts[i] := json_build_array(task.id, task.status);
            CONTINUE;
        END IF;
        IF retries THEN
            BEGIN
                PERFORM dibs.revive(p_now, task.id, p_payload, p_bytes, p_hash, p_delay_s, p_keep_steps);
                at := coalesce(p_now, dibs.micros());
            EXCEPTION WHEN SQLSTATE 'DB001' THEN
                GET STACKED DIAGNOSTICS word = MESSAGE_TEXT, fact = PG_EXCEPTION_DETAIL;
                words[i] := word;
                facts[i] := fact;
                CONTINUE;
            END;
        ELSE
            UPDATE dibs.questions q SET status = 'closed'
            WHERE q.n = task.n AND q.kind = 'decision' AND q.status = 'open';
            UPDATE dibs.ended e SET resolution = p_resolution, reviewed_at = at, updated_at = at WHERE e.n = task.n;
        END IF;
        asked := CASE p_resolution WHEN 'escalated' THEN dibs.ask_decision(at, task.n, p_to, p_question, p_schema) END;
        IF p_resolution = 'dropped' THEN
            -- Cancelled by request. What follows from its end has followed.
            UPDATE dibs.ended e SET
                status = 'cancelled', reason = 'dropped', cancel_reason = p_note, requested = true, ended_at = at
            WHERE e.n = task.n;
            PERFORM dibs.publish(
                ARRAY[dibs.event('task.cancelled', at, task.id, task.dag, task.agent, 'dropped')], at
            );
            touched := touched || task.dag;
        END IF;
        UPDATE dibs.specs s SET spec = dibs.spec_with(s.spec, 'reviews', dibs.one_more_review(
            (s.spec::json -> 'reviews')::text::jsonb, jsonb_strip_nulls(jsonb_build_object(
                'resolution', p_resolution, 'by', p_by, 'note', p_note, 'to', p_to, 'question', asked, 'fence', task.fence,
                'at', to_char(
                    ('epoch'::timestamptz + at * interval '1 microsecond') AT TIME ZONE 'UTC',
                    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'
                )
            ))
        )::text) WHERE s.n = task.n;
        PERFORM dibs.publish(
            ARRAY[dibs.event('task.reviewed', at, task.id, task.dag, NULL, p_resolution, CASE
                WHEN asked IS NULL THEN p_told ELSE left(p_told, -1) || ',"question":' || to_json(asked) || '}'
            END)], at
        );
        done := done || task.n;
    END LOOP;
    PERFORM dibs.publish(dibs.follow(touched, at), at);
    whole := dibs.whole(done);
END $$;

-- As rules.review.with_review.
CREATE OR REPLACE FUNCTION dibs.one_more_review(p_known jsonb, p_review jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN jsonb_array_length(p_known) >= 50 THEN p_known - 0 ELSE coalesce(p_known, '[]') END || p_review
$$;
