-- Ladders, and what failures take of them, as rules/escalation.py has it; the model test compares the two. Failures look for
-- a ladder in the transaction that settles them, and only where there is one at all.

-- Keep a ladder, or forget it (NULL); whether there was one. Locks: its row.
CREATE OR REPLACE FUNCTION dibs.set_ladder(p_project text, p_scope text, p_rungs text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    named text := CASE WHEN left(p_scope, 4) = 'dag:' THEN substr(p_scope, 5) END;
    known boolean;
BEGIN
    IF p_rungs IS NULL THEN
        DELETE FROM dibs.ladders l WHERE l.project = p_project AND l.scope = p_scope;
        RETURN FOUND;
    END IF;
    IF named IS NOT NULL AND NOT EXISTS (SELECT 1 FROM dibs.dags d WHERE d.id = named) AND NOT EXISTS (
        SELECT 1 FROM dibs.specs s
        WHERE s.id IN (substr(named, 5), 'task_' || substr(named, 5)) AND s.dag IS NULL AND dibs.dag_of(s.id) = named
    ) THEN
        PERFORM dibs.refuse('no_dag', json_build_array(named, 'dag'));
    END IF;
    known := EXISTS (SELECT 1 FROM dibs.ladders l WHERE l.project = p_project AND l.scope = p_scope);
    INSERT INTO dibs.ladders (project, scope, rungs) VALUES (p_project, p_scope, p_rungs)
    ON CONFLICT (project, scope) DO UPDATE SET rungs = excluded.rungs;
    RETURN known;
END $$;

-- A decision (as `settle` has it) with `rungs`, those that this failure takes, and `next` as they say. A rung's default is
-- the text of it, so that it is kept to the byte.
CREATE OR REPLACE FUNCTION dibs.climbed(p_n bigint, p_more jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    task record;
    ladder json;
    rung json;
    early json;
    due json[] := '{}';
    done text[] := '{}';
    taken text[];
    used_up boolean := coalesce((p_more->>'used_up')::boolean, false);
    over boolean := p_more->>'next' = 'dead_lettered' AND NOT used_up;
BEGIN
    IF p_more->>'outcome' NOT IN ('failed', 'timed_out', 'expired', 'rejected')
        OR NOT coalesce((p_more->>'counts_attempt')::boolean, true) THEN
        RETURN p_more;
    END IF;
    SELECT s.project, s.type, coalesce(s.dag, dibs.dag_of(s.id)) AS dag, s.spec, w.attempts + 1 AS failures INTO task
    FROM dibs.specs s JOIN dibs.work w ON w.n = s.n WHERE s.n = p_n;
    SELECT l.rungs INTO ladder
    FROM unnest(ARRAY['dag:' || task.dag, 'type:' || task.type, 'type:*']) WITH ORDINALITY AS c (scope, place)
    JOIN dibs.ladders l ON l.project = task.project AND l.scope = c.scope
    ORDER BY c.place LIMIT 1;
    IF NOT FOUND THEN
        RETURN p_more;
    END IF;
    taken := ARRAY(
        SELECT (e->>'after') || ' ' || (e->>'do') FROM json_array_elements(task.spec::json->'escalations') AS t (e)
    );
    FOR rung IN SELECT r FROM json_array_elements(ladder) AS l (r) LOOP
        CONTINUE WHEN (rung->>'after') || ' ' || (rung->>'do') = ANY (taken);
        IF (rung->>'after')::integer > task.failures THEN
            IF early IS NULL AND rung->>'do' = 'ask' THEN
                early := rung;
            END IF;
            CONTINUE;
        END IF;
        CONTINUE WHEN over AND rung->>'do' IN ('reassign', 'ask');
        due := due || rung;
        done := done || (rung->>'do');
        EXIT WHEN rung->>'do' = 'ask';
    END LOOP;
    IF used_up AND done <@ ARRAY['notify'] AND early IS NOT NULL THEN
        due := due || early;
        done := done || 'ask'::text;
    END IF;
    IF cardinality(due) = 0 THEN
        RETURN p_more;
    END IF;
    RETURN p_more || jsonb_build_object(
        'next', CASE
            WHEN 'fail_dag' = ANY (done) THEN 'dead_lettered'
            WHEN 'ask' = ANY (done) THEN 'waiting'
            WHEN 'reassign' = ANY (done) AND used_up THEN 'ready'
            ELSE p_more->>'next'
        END,
        'rungs', (
            SELECT jsonb_agg(
                r.rung::jsonb || CASE
                    WHEN r.rung->'default' IS NULL THEN '{}' ELSE jsonb_build_object('default', (r.rung->'default')::text)
                END ORDER BY r.place
            ) FROM unnest(due) WITH ORDINALITY AS r (rung, place)
        )
    );
END $$;

-- The id of the question that a rung asks, as rules.escalation.question_id.
CREATE OR REPLACE FUNCTION dibs.rung_question(p_id text, p_fence bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT 'q_' || CASE WHEN left(p_id, 5) = 'task_' THEN substr(p_id, 6) ELSE p_id END || '_e' || p_fence $$;

-- Record the rungs that a failure takes. Answers the events of it. The task's row is locked by the caller.
CREATE OR REPLACE FUNCTION dibs.take_rungs(
    p_at bigint, p_n bigint, p_fence bigint, p_agent text, p_failures integer, p_rungs jsonb
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    s record;
    rung jsonb;
    told jsonb;
    taken jsonb;
    events text[] := '{}';
BEGIN
    SELECT x.id, x.dag, x.spec INTO s FROM dibs.specs x WHERE x.n = p_n;
    taken := coalesce((s.spec::json->'escalations')::jsonb, '[]');
    FOR rung IN SELECT r FROM jsonb_array_elements(p_rungs) AS l (r) LOOP
        told := jsonb_strip_nulls(jsonb_build_object(
            'after', rung->'after', 'to', rung->'to', 'agent', rung->'agent', 'model', rung->'model',
            'question', CASE rung->>'do' WHEN 'ask' THEN dibs.rung_question(s.id, p_fence) END
        ));
        taken := taken || (told || jsonb_build_object(
            'do', rung->'do', 'fence', p_fence, 'at', to_char(
                ('epoch'::timestamptz + p_at * interval '1 microsecond') AT TIME ZONE 'UTC',
                'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'
            )
        ));
        events := events || dibs.event(
            'task.escalated', p_at, s.id, s.dag, p_agent, rung->>'do',
            (told || jsonb_build_object('failures', p_failures))::text
        );
    END LOOP;
    UPDATE dibs.specs x SET spec = dibs.spec_with(x.spec, 'escalations', taken::text) WHERE x.n = p_n;
    RETURN events;
END $$;

-- Move a task to the lane of another agent or model, as its rungs say. Its row is locked by the caller; needs hold_floors().
-- Whether a lane is in use that was not: then everybody has to read them again, once no other lock is waited for.
CREATE OR REPLACE FUNCTION dibs.reassign(p_n bigint, p_rungs jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    rung jsonb;
    changed boolean := false;
    moved record;
    fallback record;
BEGIN
    FOR rung IN SELECT r FROM jsonb_array_elements(p_rungs) AS l (r) WHERE r->>'do' = 'reassign' LOOP
        SELECT l.id, l.fresh INTO moved
        FROM dibs.work w CROSS JOIN LATERAL dibs.lane_for(w.lane, rung->>'agent', rung->>'model') l WHERE w.n = p_n;
        UPDATE dibs.work w SET lane = moved.id WHERE w.n = p_n;
        changed := changed OR moved.fresh;
        IF rung->>'model' IS NOT NULL THEN
            -- The provider it named was that of its other models.
            UPDATE dibs.specs s SET fallback_lane = NULL, spec = dibs.spec_with(dibs.spec_with(dibs.spec_with(
                s.spec, 'models', jsonb_build_array(rung->'model')::text), 'fallback_models', '[]'), 'provider', 'null'
            ) WHERE s.n = p_n;
            CONTINUE;
        END IF;
        UPDATE dibs.specs s SET spec = dibs.spec_with(s.spec, 'assignee', (rung->'agent')::text) WHERE s.n = p_n;
        SELECT l.id, l.fresh INTO fallback
        FROM dibs.specs s CROSS JOIN LATERAL dibs.lane_for(s.fallback_lane, rung->>'agent', NULL) l
        WHERE s.n = p_n AND s.fallback_lane IS NOT NULL;
        IF FOUND THEN
            UPDATE dibs.specs s SET fallback_lane = fallback.id WHERE s.n = p_n;
            changed := changed OR fallback.fresh;
        END IF;
    END LOOP;
    RETURN changed;
END $$;

-- The lane like another one, but for this agent ('': for anybody) or model. `fresh`: it was not in use. Locks: its row, if it was not.
CREATE OR REPLACE FUNCTION dibs.lane_for(p_lane integer, p_agent text, p_model text, OUT id integer, OUT fresh boolean)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    base record;
    wanted text;
BEGIN
    SELECT l.project, l.type, l.boost, l.key INTO base FROM dibs.lanes l WHERE l.id = p_lane;
    SELECT '{' || string_agg(to_json(j.name) || ':' || CASE
        WHEN j.name = 'assignee' AND p_agent IS NOT NULL THEN coalesce(to_json(nullif(p_agent, ''))::text, 'null')
        WHEN j.name = 'models' AND p_model IS NOT NULL THEN '[' || to_json(p_model) || ']'
        WHEN j.name = 'provider' AND p_model IS NOT NULL THEN 'null'
        ELSE j.value::text
    END, ',' ORDER BY j.place) || '}' INTO wanted
    FROM json_each(base.key::json) WITH ORDINALITY AS j (name, value, place);
    SELECT l.id, false INTO id, fresh FROM dibs.lanes l WHERE l.key = wanted AND l.retired_at IS NULL;
    IF NOT FOUND THEN
        INSERT INTO dibs.lanes AS l (project, type, boost, key) VALUES (base.project, base.type, base.boost, wanted)
        ON CONFLICT (key) DO UPDATE SET retired_at = NULL, idle_since = NULL
        RETURNING l.id, true INTO id, fresh;
    END IF;
END $$;

-- Let a task, which is waiting by now, wait for the person whom the last of its rungs asks. Answers the event of it.
CREATE OR REPLACE FUNCTION dibs.wait_for_rung(
    p_at bigint, p_n bigint, p_fence bigint, p_agent text, p_failures integer, p_error text, p_rungs jsonb, p_data text
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    s record;
    rung jsonb := p_rungs->-1;
    asked text;
BEGIN
    SELECT x.id, x.dag, x.project INTO s FROM dibs.specs x WHERE x.n = p_n;
    asked := dibs.rung_question(s.id, p_fence);
    UPDATE dibs.work w SET step_at = NULL WHERE w.n = p_n;
    INSERT INTO dibs.questions (
        id, n, asked_at, expires_at, project, kind, status, name, digest, assignee, question, fallback
    ) VALUES (
        asked, p_n, p_at, p_at + round((rung->>'timeout_s')::float8 * 1000000)::bigint, s.project, 'escalation', 'open',
        'escalation:' || p_fence, '', rung->>'to',
        coalesce(rung->>'question', 'Failed attempts: ' || p_failures || '. The last error: '
            || left(coalesce(nullif(p_error, ''), 'unknown'), 200) || ' - how shall it go on?'),
        rung->>'default'
    );
    RETURN dibs.event(
        'task.waiting', p_at, s.id, s.dag, p_agent, 'escalation',
        coalesce(left(nullif(p_data, '{}'), -1) || ',', '{') || '"question":' || to_json(asked) || '}'
    );
END $$;

-- Whether a dead letter fails its dag whatever the dag's policy says. Most specifications need not be read for that.
CREATE OR REPLACE FUNCTION dibs.fails_dag(p_spec text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT strpos(p_spec, '"fail_dag"') > 0 AND EXISTS (
        SELECT 1 FROM json_array_elements(p_spec::json->'escalations') AS t (e) WHERE e->>'do' = 'fail_dag'
    )
$$;

-- Tasks that begin a new life begin at the foot of their ladders, and nobody is asked any more what shall become of them.
CREATE OR REPLACE FUNCTION dibs.forget_escalations(p_ns bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE dibs.specs s SET spec = dibs.spec_with(s.spec, 'escalations', '[]')
    WHERE s.n = ANY (p_ns) AND s.spec::json->'escalations' IS NOT NULL;
    UPDATE dibs.questions q SET status = 'closed' WHERE q.n = ANY (p_ns) AND q.kind = 'decision' AND q.status = 'open';
END $$;

-- Ask whom a dead letter is escalated to; the id of the question, as rules.questions.decision_id.
CREATE OR REPLACE FUNCTION dibs.ask_decision(p_at bigint, p_n bigint, p_to text, p_question text, p_schema text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    s record;
    number bigint;
    asked text;
BEGIN
    SELECT x.id, x.project, e.error, e.reason INTO s
    FROM dibs.specs x JOIN dibs.ended e ON e.n = x.n WHERE x.n = p_n;
    SELECT count(*) + 1 INTO number FROM dibs.questions q WHERE q.n = p_n AND q.kind = 'decision';
    asked := 'q_' || CASE WHEN left(s.id, 5) = 'task_' THEN substr(s.id, 6) ELSE s.id END || '_d' || number;
    INSERT INTO dibs.questions (id, n, asked_at, project, kind, status, name, digest, assignee, question, schema)
    VALUES (
        asked, p_n, p_at, s.project, 'decision', 'open', 'decision:' || number, '', p_to,
        coalesce(p_question, 'It was given up: '
            || left(coalesce(nullif(s.error, ''), nullif(s.reason, ''), 'unknown'), 200) || ' - retry, drop or keep it?'),
        p_schema
    );
    RETURN asked;
END $$;
