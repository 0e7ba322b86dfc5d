-- Questions to people: asked under a claim that ends with it, answered, closed, or left until their time is over.

-- Ask a person, once; of p_kind validation, about work that was handed in. `suspended`: the claim has ended; else there is an answer already. `asked`: as `asked` has it.
-- Locks: floors (shared), the task's row, locks.
CREATE OR REPLACE FUNCTION dibs.ask(
    p_now bigint, p_task text, p_fence bigint, p_id text, p_name text, p_digest text, p_question text, p_schema text,
    p_assignee text, p_timeout_s float8, p_fallback text, p_usage text, p_kind text,
    OUT suspended boolean, OUT asked text
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    s record;
    w dibs.work%ROWTYPE;
    q dibs.questions%ROWTYPE;
    at bigint;
    held boolean;
    expires bigint;
BEGIN
    SELECT x.n, x.project, x.dag INTO s FROM dibs.specs x WHERE x.id = p_task;
    IF NOT FOUND THEN
        PERFORM dibs.refuse('no_task', json_build_array(p_task));
    END IF;
    PERFORM dibs.hold_floors();
    SELECT * INTO w FROM dibs.work x WHERE x.n = s.n FOR UPDATE;
    at := coalesce(p_now, dibs.micros());
    held := coalesce(w.fence = p_fence AND CASE
        WHEN p_kind = 'question' THEN w.status IN ('claimed', 'running') ELSE w.status = 'validating' AND w.open = 0
    END, false);
    IF held AND w.timeout_at <= at THEN
        PERFORM dibs.refuse('over_timeout', json_build_array(p_task, p_fence, w.timeout_s));
    END IF;
    SELECT * INTO q FROM dibs.questions x WHERE x.n = s.n AND x.name = p_name;
    -- Not held, but this very call may have ended the claim, and its reply was lost.
    IF NOT held AND (q.id IS NULL OR NOT EXISTS (
        SELECT 1 FROM dibs.attempts a WHERE a.n = s.n AND a.fence = p_fence AND a.outcome = 'suspended'
    )) THEN
        PERFORM dibs.refuse('lease_lost', json_build_array(p_task, p_fence));
    END IF;
    IF q.digest <> p_digest THEN
        PERFORM dibs.refuse('journal_mismatch', json_build_array('question', p_name, p_task));
    END IF;
    suspended := NOT held OR q.status IS DISTINCT FROM 'answered';
    IF held AND suspended THEN
        expires := at + round(p_timeout_s * 1000000)::bigint;
        IF q.id IS NULL THEN
            INSERT INTO dibs.questions (
                id, n, asked_at, expires_at, project, kind, status, name, digest, assignee, question, schema, fallback
            ) VALUES (
                p_id, s.n, at, expires, s.project, p_kind, 'open', p_name, p_digest, p_assignee, p_question, p_schema,
                p_fallback
            );
            q.id := p_id;
        ELSE
            UPDATE dibs.questions x SET status = 'open', fallback = p_fallback, asked_at = at, expires_at = expires
            WHERE x.id = q.id;
        END IF;
        IF w.status = 'validating' THEN
            UPDATE dibs.work x SET status = 'waiting', updated_at = at WHERE x.n = s.n;
        ELSE
            PERFORM dibs.suspend(w, 'waiting', p_usage::jsonb, at);
            PERFORM dibs.free_locks(ARRAY[s.n], at);
        END IF;
        PERFORM dibs.publish(ARRAY[dibs.waiting_event(at, p_task, s.dag, w.agent, p_kind, q.id)], at);
    END IF;
    asked := dibs.asked(ARRAY[q.id]);
END $$;

CREATE OR REPLACE FUNCTION dibs.waiting_event(
    p_at bigint, p_task text, p_dag text, p_agent text, p_kind text, p_question text
) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT dibs.event(
        'task.waiting', p_at, p_task, p_dag, p_agent, p_kind, json_build_object('question', p_question)::text
    )
$$;

-- Let tasks whose life begins wait for their approval; the id of each is as rules.questions.approval_id. Rows of `work`,
-- locked by the caller, or new. Answers events, for `publish`.
CREATE OR REPLACE FUNCTION dibs.hold_for_approval(p_ns bigint[], p_at bigint) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    events text[];
BEGIN
    UPDATE dibs.work w SET status = 'waiting', due_at = NULL, step_at = NULL, updated_at = p_at WHERE w.n = ANY (p_ns);
    WITH opened AS (
        INSERT INTO dibs.questions (id, n, asked_at, project, kind, status, digest, question, schema)
        SELECT
            'q_' || CASE WHEN left(s.id, 5) = 'task_' THEN substr(s.id, 6) ELSE s.id END
                || CASE WHEN e.earlier > 0 THEN '_' || e.earlier + 1 ELSE '' END,
            s.n, p_at, s.project, 'approval', 'open', '', 'Shall this task run?', '{"type":"boolean"}'
        FROM unnest(p_ns) AS u (n) JOIN dibs.specs s ON s.n = u.n
        CROSS JOIN LATERAL (
            SELECT count(*) AS earlier FROM dibs.questions q WHERE q.n = u.n AND q.kind = 'approval'
        ) e
        RETURNING id, n
    )
    SELECT array_agg(dibs.waiting_event(p_at, s.id, s.dag, NULL, 'approval', o.id) ORDER BY s.n) INTO events
    FROM opened o JOIN dibs.specs s ON s.n = o.n;
    RETURN coalesce(events, '{}');
END $$;

-- Take an answer to an open question; the same answer again is answered as before.
-- p_refusal: why a task is cancelled that is not approved. `more`: consequences wait to be spread, for `task`.
-- p_resolution, p_note: what becomes of a dead letter, if that is the question.
-- Locks: floors (shared), links (a decision), the task's row, its dag's; or as `review`.
CREATE OR REPLACE FUNCTION dibs.answer(
    p_now bigint, p_id text, p_value text, p_by text, p_refusal text, p_resolution text, p_note text,
    OUT asked text, OUT task text, OUT more boolean
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    q dibs.questions%ROWTYPE;
    at bigint;
BEGIN
    SELECT * INTO q FROM dibs.questions x WHERE x.id = p_id;
    PERFORM dibs.hold_floors();
    IF q.kind = 'decision' THEN
        PERFORM dibs.decide(p_now, q, p_value, p_by, p_resolution, p_note);
        asked := dibs.asked(ARRAY[p_id]);
        more := false;
        RETURN;
    END IF;
    PERFORM dibs.lock_tasks(ARRAY[q.n]);
    at := coalesce(p_now, dibs.micros());
    SELECT * INTO q FROM dibs.questions x WHERE x.id = p_id;
    IF NOT FOUND THEN
        PERFORM dibs.refuse('no_question', json_build_array(p_id));
    END IF;
    more := false;
    IF q.status = 'answered' AND q.answer = p_value THEN
        asked := dibs.asked(ARRAY[p_id]);
        RETURN;
    END IF;
    IF q.status <> 'open' THEN
        PERFORM dibs.refuse('question_over', json_build_array(p_id, q.status));
    END IF;
    PERFORM dibs.publish(dibs.take_answer(q, p_value, p_by, p_refusal, at), at);
    asked := dibs.asked(ARRAY[p_id]);
    SELECT s.id, e.marked INTO task, more FROM dibs.specs s LEFT JOIN dibs.ended e ON e.n = s.n WHERE s.n = q.n;
    more := coalesce(more, false);
END $$;

-- Somebody was asked what shall become of a dead letter, and has answered. Locks: as `review`; needs hold_floors().
CREATE OR REPLACE FUNCTION dibs.decide(
    p_now bigint, q dibs.questions, p_value text, p_by text, p_resolution text, p_note text
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    at bigint;
    s record;
    decided record;
    who text := coalesce(p_by, q.assignee);
BEGIN
    PERFORM dibs.hold_links();
    PERFORM dibs.lock_tasks(ARRAY(
        SELECT q.n
        UNION
        SELECT e.n FROM dibs.specs x JOIN dibs.ended e ON e.cause = x.id AND e.status = 'cancelled' WHERE x.n = q.n
    ));
    at := coalesce(p_now, dibs.micros());
    SELECT * INTO q FROM dibs.questions x WHERE x.id = q.id;
    IF q.status = 'answered' AND q.answer = p_value THEN
        RETURN;
    ELSIF q.status <> 'open' THEN
        PERFORM dibs.refuse('question_over', json_build_array(q.id, q.status));
    END IF;
    UPDATE dibs.questions x SET status = 'answered', answer = p_value, answered_by = p_by, answered_at = at
    WHERE x.id = q.id;
    SELECT x.id, x.dag INTO s FROM dibs.specs x WHERE x.n = q.n;
    PERFORM dibs.publish(ARRAY[dibs.event(
        'task.answered', at, s.id, s.dag, NULL, q.kind, json_build_object('question', q.id, 'by', p_by)::text
    )], at);
    decided := dibs.review(
        p_now, ARRAY[s.id], p_resolution, who, p_note, NULL,
        jsonb_strip_nulls(jsonb_build_object('by', who, 'note', p_note))::text,
        NULL, NULL, NULL, 0, true, NULL, NULL
    );
    IF decided.words[1] IS NOT NULL THEN
        PERFORM dibs.refuse(decided.words[1], decided.facts[1]::json);
    END IF;
END $$;

-- Write an answer down and let the task go on: as rules.questions.after_answer. Its row is locked by the caller; needs
-- hold_floors(). Answers events, for `publish`.
CREATE OR REPLACE FUNCTION dibs.take_answer(q dibs.questions, p_value text, p_by text, p_refusal text, p_at bigint)
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    w record;
    done record;
    events text[];
BEGIN
    UPDATE dibs.questions x SET status = 'answered', answer = p_value, answered_by = p_by, answered_at = p_at
    WHERE x.id = q.id;
    SELECT x.open, x.ties, s.id, s.dag INTO w FROM dibs.work x JOIN dibs.specs s ON s.n = x.n WHERE x.n = q.n;
    events := ARRAY[dibs.event(
        'task.answered', p_at, w.id, w.dag, NULL, q.kind, json_build_object('question', q.id, 'by', p_by)::text
    )];
    IF q.kind = 'validation' THEN
        UPDATE dibs.work x SET status = 'validating', updated_at = p_at WHERE x.n = q.n;
        RETURN events;
    ELSIF q.kind = 'approval' AND p_value <> 'true' THEN
        done := dibs.cancel_tasks(
            p_at, ARRAY[q.n], ARRAY['cancelled'], ARRAY[p_refusal], ARRAY[NULL::text], ARRAY[true], ARRAY[w.ties > 0]
        );
        RETURN events || done.events || dibs.follow(done.dags, p_at);
    ELSIF q.kind = 'approval' OR w.open > 0 THEN
        RETURN events || dibs.settle_down(ARRAY[q.n], p_at);
    END IF;
    RETURN events || dibs.make_ready(ARRAY[q.n], p_at);
END $$;

-- End open questions whose time is over, longest over first. How many. What somebody is busy with is left for the next
-- time. Dead letters are marked only: `spread` goes on.
-- Reads only while there is none. Locks: floors (shared), task rows without waiting, dag rows.
CREATE OR REPLACE FUNCTION dibs.lapse(p_now bigint, p_limit integer) RETURNS integer LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    at bigint := coalesce(p_now, dibs.micros());
    over bigint[];
    q dibs.questions%ROWTYPE;
    w dibs.work%ROWTYPE;
    s record;
    made dibs.submitted%ROWTYPE;
    events text[] := '{}';
    touched text[] := '{}';
    lapsed integer := 0;
BEGIN
    PERFORM 1 FROM dibs.questions x WHERE x.status = 'open' AND x.expires_at IS NOT NULL AND x.expires_at <= at LIMIT 1;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    PERFORM dibs.hold_floors();
    over := ARRAY(
        SELECT x.n FROM dibs.questions x WHERE x.status = 'open' AND x.expires_at IS NOT NULL AND x.expires_at <= at
        ORDER BY x.expires_at, x.id LIMIT p_limit
    );
    over := ARRAY(SELECT x.n FROM dibs.work x WHERE x.n = ANY (over) ORDER BY x.n FOR UPDATE SKIP LOCKED);
    at := coalesce(p_now, dibs.micros());
    FOR q IN
        SELECT * FROM dibs.questions x WHERE x.n = ANY (over) AND x.status = 'open' AND x.expires_at <= at
        ORDER BY x.expires_at, x.id
    LOOP
        lapsed := lapsed + 1;
        IF q.fallback IS NOT NULL THEN
            events := events || dibs.take_answer(q, q.fallback, 'timeout', NULL, at);
            CONTINUE;
        END IF;
        UPDATE dibs.questions x SET status = 'closed' WHERE x.id = q.id;
        SELECT x.id, x.dag, x.project, x.key INTO s FROM dibs.specs x WHERE x.n = q.n;
        SELECT * INTO w FROM dibs.work x WHERE x.n = q.n;
        w.status := 'dead_lettered';
        w.reason := 'timeout';
        w.error := 'nobody answered question ' || q.id || ' in time: ' || left(q.question, 200);
        w.exit_code := NULL;
        -- Work that was handed in stays on the task.
        made := NULL;
        DELETE FROM dibs.submitted u WHERE u.n = q.n RETURNING * INTO made;
        PERFORM dibs.end_task(
            w, at, false, made.output, made.decision, NULL, coalesce(made.output_sanitized, false)
        );
        UPDATE dibs.ended x SET marked = true WHERE x.n = q.n;
        DELETE FROM dibs.keys k WHERE k.project = s.project AND k.key = s.key AND k.n = q.n;
        events := events || dibs.event(
            'task.dead_lettered', at, s.id, s.dag, NULL, 'timeout', json_build_object('question', q.id)::text
        );
        touched := touched || s.dag;
    END LOOP;
    PERFORM dibs.publish(events || dibs.follow(touched, at), at);
    RETURN lapsed;
END $$;

-- Questions as `[[[id, task, type, title, kind, name, question, assignee, status, asked_at, expires_at, answered_by,
-- answered_at], schema, fallback, answer], …]`, oldest first. What users wrote is spliced in as it is kept.
CREATE OR REPLACE FUNCTION dibs.asked(p_ids text[]) RETURNS text LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
BEGIN
    RETURN (
        SELECT '[' || coalesce(string_agg(
            '[' || json_build_array(
                q.id, s.id, s.type, s.spec::json->>'title', q.kind, q.name, q.question, q.assignee, q.status, q.asked_at,
                q.expires_at, q.answered_by, q.answered_at
            ) || ',' || coalesce(q.schema, 'null') || ',' || coalesce(q.fallback, 'null') || ','
                || coalesce(q.answer, 'null') || ']',
            ',' ORDER BY q.asked_at, q.id
        ), '') || ']'
        FROM dibs.questions q JOIN dibs.specs s ON s.n = q.n WHERE q.id = ANY (p_ids)
    );
END $$;

-- The open questions of a project, oldest first; with an assignee only those meant for them or for nobody.
CREATE OR REPLACE FUNCTION dibs.inbox(p_project text, p_assignee text, p_limit integer) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT dibs.asked(ARRAY(
        SELECT q.id FROM dibs.questions q
        WHERE q.project = p_project AND q.status = 'open'
            AND (p_assignee IS NULL OR q.assignee IS NULL OR q.assignee = p_assignee)
        ORDER BY q.asked_at, q.id LIMIT p_limit
    ))
$$;
