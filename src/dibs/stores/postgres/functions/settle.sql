-- End claims as decided; each is answered by itself, in the order given.
--
-- p_ns: the tasks' numbers where the caller knows them. p_more: NULL for work that simply completed; else the rest of the
-- decision, as JSON. Arrays of NULLs may be left out. p_data: what the event carries, as JSON.
-- Answers `words` = NULL if all simply completed, else for each 'settled' or the name of a refusal, with its facts: the
-- outcome, status and retry_at recorded, or what the refusal says. `marked`: consequences wait to be spread.
-- Locks: floors (shared), own rows and dependents by number, lanes that come into use, locks, dag rows, gates of providers,
-- breakers by type; last the lanes' version.
CREATE OR REPLACE FUNCTION dibs.settle(
    p_now bigint, p_ids text[], p_ns bigint[], p_fences bigint[], p_digests text[], p_outputs text[], p_decisions text[],
    p_data text[], p_more text[],
    OUT at bigint, OUT words text[], OUT facts text[], OUT marked text[]
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_variable
DECLARE
    told record;
    done bigint[] := '{}';
    counted integer := 0;
    bodies text[] := '{}';
    events text[] := '{}';
    touched text[] := '{}';
    answer record;
    said text[];
    limited text[];
    climbs boolean;             -- there are ladders; failures look
    relaned boolean := false;
    from_lanes integer[];       -- where those were claimed from that may climb to another lane
BEGIN
    IF p_ns IS NULL THEN
        SELECT array_agg(s.n ORDER BY i.place) INTO p_ns
        FROM unnest(p_ids) WITH ORDINALITY AS i (id, place) LEFT JOIN dibs.specs s ON s.id = i.id;
    END IF;
    at := coalesce(p_now, dibs.micros());

    -- Nothing depends on these and nothing is to be added up: one statement ends them all.
    FOR told IN
        WITH gone AS (
            DELETE FROM dibs.held w
            USING unnest(p_ns, p_fences, p_ids, p_digests, p_outputs, p_decisions, p_data, p_more)
                WITH ORDINALITY AS s (n, fence, id, digest, output, decision, data, more, place)
            -- Not w.n = s.n: a planner that last saw the table nearly empty would read all of it and compare.
            WHERE w.n = ANY (ARRAY[s.n]) AND w.fence = s.fence AND s.more IS NULL
                AND w.ties = 0 AND w.usage IS NULL
                AND (w.timeout_at IS NULL OR w.timeout_at > at)
            RETURNING
                w.n, w.fence, w.ready_at, w.claimed_at, w.started_at, w.renewed_at, w.rank, w.priority, w.boost, w.lane,
                w.bytes, w.open, w.deps, w.attempts, w.crashes, w.weight, w.overdue, w.agent, w.model, w.timeout_s,
                w.run_after, w.deadline, w.lease_s, w.progress, w.note, w.cost_usd, w.tokens_in, w.tokens_out, w.turns,
                s.id, s.digest, s.output, s.decision, s.data, s.place
        ), kept AS (
            INSERT INTO dibs.ended (
                n, ended_at, updated_at, fence, ready_at, claimed_at, started_at, renewed_at, rank, priority, boost, lane,
                bytes, open, deps, attempts, crashes, weight, overdue, status, agent, model, digest, output, decision,
                timeout_s, run_after, deadline, lease_s, progress, note, cost_usd, tokens_in, tokens_out, turns
            )
            SELECT
                g.n, at, at, g.fence, g.ready_at, g.claimed_at, g.started_at, g.renewed_at, g.rank, g.priority, g.boost,
                g.lane, g.bytes, g.open, g.deps, g.attempts + 1, g.crashes, g.weight, g.overdue, 'completed', g.agent,
                g.model, g.digest, g.output, g.decision, g.timeout_s, g.run_after, g.deadline, g.lease_s, g.progress, g.note,
                g.cost_usd, g.tokens_in, g.tokens_out, g.turns
            FROM gone g
        )
        SELECT
            g.agent, array_agg(g.place) AS places, count(*) AS count,
            string_agg(
                CASE WHEN g.data IS NULL THEN '"' || g.id || '"' ELSE '["' || g.id || '",null,' || g.data || ']' END, ','
            ) AS items
        FROM gone g GROUP BY g.agent
    LOOP
        counted := counted + told.count;
        done := done || told.places;
        bodies := bodies
            || ('[["task.completed"],' || at || ',' || to_json(told.agent) || ',null,[' || told.items || ']]');
    END LOOP;
    IF counted > 0 THEN
        INSERT INTO dibs.outbox (at, count, body) VALUES (at, counted, '[' || array_to_string(bodies, ',') || ']');
    END IF;
    IF counted = cardinality(p_ids) THEN
        PERFORM dibs.judge_successes(at, p_ns, p_fences);
        RETURN;
    END IF;

    -- The rest: what has only to be added up together, what is left one after the other. Every row that may change is
    -- locked first, in one order.
    PERFORM dibs.hold_floors();
    PERFORM 1 FROM dibs.work w
    WHERE w.n IN (
        SELECT s.n FROM unnest(p_ns) WITH ORDINALITY AS s (n, place) WHERE NOT s.place = ANY (done)
        UNION
        SELECT e.child FROM unnest(p_ns) WITH ORDINALITY AS s (n, place)
        JOIN dibs.edges e ON e.parent = s.n AND e.resolved_at IS NULL
        WHERE NOT s.place = ANY (done)
    )
    ORDER BY w.n FOR UPDATE;
    at := coalesce(p_now, dibs.micros());
    marked := '{}';
    IF cardinality(p_ids) - counted > 1 THEN
        done := done || dibs.complete_priced(
            at, p_ns, p_fences, p_ids, p_digests, p_outputs, p_decisions, p_data, p_more, done
        );
        IF cardinality(done) = cardinality(p_ids) THEN
            PERFORM dibs.free_locks(p_ns, at);
            PERFORM dibs.judge_successes(at, p_ns, p_fences);
            RETURN;
        END IF;
    END IF;
    FOR i IN 1 .. cardinality(p_ids) LOOP
        IF i = ANY (done) THEN
            words[i] := 'settled';
            facts[i] := '["completed","completed",null]';
            said[i] := 'success';
            CONTINUE;
        END IF;
        IF p_more[i] IS NOT NULL AND climbs IS NULL THEN
            climbs := EXISTS (SELECT 1 FROM dibs.ladders);
        END IF;
        IF climbs THEN
            from_lanes[i] := (SELECT w.lane FROM dibs.work w WHERE w.n = p_ns[i]);
        END IF;
        answer := dibs.settle_one(
            at, p_ids[i], p_ns[i], p_fences[i], p_digests[i], p_outputs[i], p_decisions[i], p_data[i],
            CASE WHEN climbs THEN dibs.climbed(p_ns[i], p_more[i]::jsonb) ELSE p_more[i]::jsonb END
        );
        relaned := relaned OR coalesce(answer.relaned, false);
        words[i] := answer.word;
        facts[i] := answer.facts;
        said[i] := answer.said;
        events := events || answer.events;
        IF answer.dag IS NOT NULL THEN
            touched := touched || answer.dag;
        END IF;
        IF answer.marked THEN
            marked := marked || p_ids[i];
        END IF;
    END LOOP;
    PERFORM dibs.free_locks(p_ns, at);
    PERFORM dibs.publish(events || dibs.follow(touched, at), at);
    SELECT array_agg(l.limited ORDER BY l.place) INTO limited FROM (
        SELECT m.place, CASE WHEN said[m.place] IS NOT NULL THEN m.more::json->>'limited' END AS limited
        FROM unnest(p_more) WITH ORDINALITY AS m (more, place)
    ) l HAVING count(l.limited) > 0;
    IF limited IS NOT NULL THEN
        PERFORM dibs.hold_backoffs(p_ns, from_lanes, limited);
    END IF;
    IF 'failure' = ANY (said) OR EXISTS (SELECT 1 FROM dibs.breakers b WHERE b.troubled) THEN
        PERFORM dibs.judge(at, p_ns, p_fences, said);
    END IF;
    IF EXISTS (SELECT 1 FROM dibs.backoffs) THEN
        PERFORM dibs.judge_backoffs(at, p_ns, from_lanes, said, limited);
    END IF;
    IF relaned THEN
        -- Last: whoever holds the lanes' version waits for nothing.
        PERFORM dibs.change_lanes();
    END IF;
END $$;

-- These all completed: let that count for breakers and gates of providers, where some remember anything.
CREATE OR REPLACE FUNCTION dibs.judge_successes(p_at bigint, p_ns bigint[], p_fences bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM dibs.breakers b WHERE b.troubled) THEN
        PERFORM dibs.judge(p_at, p_ns, p_fences, array_fill('success'::text, ARRAY[cardinality(p_ns)]));
    END IF;
    IF EXISTS (SELECT 1 FROM dibs.backoffs) THEN
        PERFORM dibs.judge_backoffs(p_at, p_ns, NULL, array_fill('success'::text, ARRAY[cardinality(p_ns)]), NULL);
    END IF;
END $$;

-- One settlement, on locked rows.
CREATE OR REPLACE FUNCTION dibs.settle_one(
    p_at bigint, p_id text, p_n bigint, p_fence bigint, p_digest text, p_output text, p_decision text, p_data text,
    p_more jsonb,
    OUT word text, OUT facts text, OUT events text[], OUT dag text, OUT marked boolean, OUT said text, OUT relaned boolean
) LANGUAGE plpgsql AS $$
DECLARE
    w dibs.work%ROWTYPE;
    e dibs.ended%ROWTYPE;
    s record;
    past record;
    used jsonb;
    outcome text := coalesce(p_more->>'outcome', 'completed');
    next text := coalesce(p_more->>'next', 'completed');
    reason text := p_more->>'reason';
    error text := p_more->>'error';
    by_duty boolean := outcome = 'expired' OR (outcome = 'timed_out' AND p_digest = 'duty');
    counts boolean := coalesce((p_more->>'counts_attempt')::boolean, true);
    concludes boolean := coalesce((p_more->>'concludes')::boolean, false);
    made dibs.submitted%ROWTYPE;
    again_at bigint;
    released bigint[];
BEGIN
    events := '{}';
    marked := false;
    SELECT * INTO w FROM dibs.work WHERE n = p_n FOR UPDATE;
    IF NOT FOUND THEN
        SELECT * INTO e FROM dibs.ended WHERE n = p_n FOR UPDATE;
        IF NOT FOUND THEN
            word := 'no_task';
            facts := json_build_array(p_id);
            RETURN;
        END IF;
    END IF;
    SELECT x.id, x.dag, x.max_attempts, x.fallback_lane, x.project, x.key INTO s FROM dibs.specs x WHERE x.n = p_n;

    IF concludes THEN
        IF w.n IS NULL OR w.fence <> p_fence OR w.status <> 'validating' OR w.open > 0 THEN
            word := 'lease_lost';
            facts := json_build_array(p_id, p_fence);
            RETURN;
        END IF;
    ELSIF w.n IS NULL OR w.fence <> p_fence OR w.status NOT IN ('claimed', 'running') THEN
        -- The claim has ended already: the same decision is answered as it was recorded.
        IF e.n IS NOT NULL AND e.digest IS NOT NULL AND e.fence = p_fence THEN
            SELECT 'completed' AS outcome, e.digest AS digest, 'completed' AS status, NULL::bigint AS retry_at INTO past;
        ELSE
            SELECT a.outcome, a.digest, a.status, a.retry_at INTO past
            FROM dibs.attempts a WHERE a.n = p_n AND a.fence = p_fence;
        END IF;
        IF past.outcome IS NOT NULL THEN
            IF past.digest <> '' AND past.digest = p_digest THEN
                word := 'settled';
                facts := json_build_array(past.outcome, past.status, past.retry_at);
            ELSIF past.outcome = 'expired' OR past.digest = 'duty' OR coalesce(w.fence, e.fence) > p_fence THEN
                word := 'lease_lost';
                facts := json_build_array(p_id, p_fence);
            ELSE
                word := 'ended_as';
                facts := json_build_array(p_id, p_fence, past.outcome);
            END IF;
        ELSIF e.status = 'cancelled' AND e.fence = p_fence AND e.due_at IS NOT NULL AND NOT by_duty THEN
            PERFORM dibs.write_cancelled_attempt(p_n, p_at, p_more->'usage');
            word := 'was_cancelled';
            facts := json_build_array(p_id, coalesce(e.cancel_reason, e.reason));
        ELSE
            word := 'lease_lost';
            facts := json_build_array(p_id, p_fence);
        END IF;
        RETURN;
    END IF;
    IF by_duty AND coalesce(CASE outcome WHEN 'expired' THEN w.lease_expires_at ELSE w.timeout_at END > p_at, true) THEN
        word := 'lease_lost';
        facts := json_build_array(p_id, p_fence);
        RETURN;
    END IF;
    IF outcome NOT IN ('expired', 'timed_out') AND w.timeout_at <= p_at THEN
        word := 'over_timeout';
        facts := json_build_array(p_id, p_fence, w.timeout_s);
        RETURN;
    END IF;

    -- It is held, or was handed in: count, write the attempt, move on.
    dag := s.dag;
    said := dibs.verdict(outcome, reason, counts, p_more ? 'together');
    -- What was handed in was added up then.
    used := CASE WHEN concludes THEN '{}' ELSE dibs.merge_usage(w.usage, p_more->'usage') END;
    w.attempts := w.attempts + counts::integer;
    w.crashes := w.crashes + coalesce((p_more->>'counts_crash')::boolean, false)::integer;
    w.releases := coalesce((p_more->>'releases')::integer, 0);
    w.solo := coalesce((p_more->>'suspect')::boolean, false) OR s.max_attempts = 1;
    w.poison_pill := coalesce((p_more->>'poison_pill')::boolean, false);
    w.timeout_s := coalesce((p_more->>'timeout_s')::float8, w.timeout_s);
    w.cost_usd := dibs.plus(w.cost_usd, (used->>'cost_usd')::float8);
    w.tokens_in := dibs.plus(w.tokens_in, (used->>'tokens_in')::bigint);
    w.tokens_out := dibs.plus(w.tokens_out, (used->>'tokens_out')::bigint);
    w.turns := dibs.plus(w.turns, (used->>'turns')::bigint);
    IF next = 'retrying' THEN
        again_at := p_at + round(coalesce((p_more->>'delay_s')::float8, 0) * 1000000)::bigint;
        w.retry_at := again_at;
    END IF;
    IF concludes THEN
        UPDATE dibs.attempts a SET
            number = CASE WHEN counts THEN w.attempts ELSE 0 END, outcome = p_more->>'outcome', status = next,
            reason = p_more->>'reason', error = p_more->>'error', fingerprint = p_more->>'fingerprint',
            retry_at = w.retry_at
        WHERE a.n = p_n AND a.fence = p_fence RETURNING a.exit_code INTO w.exit_code;
        p_more := p_more || jsonb_build_object('exit_code', w.exit_code);
        DELETE FROM dibs.submitted u WHERE u.n = p_n RETURNING * INTO made;
        IF next = 'completed' THEN
            p_output := made.output;
            p_decision := made.decision;
            p_more := p_more || jsonb_build_object('output_sanitized', made.output_sanitized);
        END IF;
    ELSE
        INSERT INTO dibs.attempts (
            n, fence, number, agent, model, outcome, status, digest, reason, error, fingerprint, exit_code, retry_at,
            started_at, ended_at, cost_usd, tokens_in, tokens_out, turns, price
        ) VALUES (
            p_n, p_fence, CASE WHEN counts THEN w.attempts ELSE 0 END, coalesce(w.agent, ''),
            coalesce(used->>'model', w.model), outcome, next, p_digest, reason, error, p_more->>'fingerprint',
            (p_more->>'exit_code')::integer, w.retry_at, w.started_at, p_at, (used->>'cost_usd')::float8,
            (used->>'tokens_in')::bigint, (used->>'tokens_out')::bigint, (used->>'turns')::bigint, used->>'price'
        );
    END IF;
    IF p_more ? 'artifacts' THEN
        PERFORM dibs.keep_artifacts(p_n, p_at, p_more->'artifacts');
    END IF;
    word := 'settled';
    facts := json_build_array(outcome, next, w.retry_at);
    IF next = 'completed' THEN
        w.error := NULL;
        w.reason := NULL;
        w.exit_code := (p_more->>'exit_code')::integer;
    ELSIF outcome IN ('failed', 'timed_out', 'expired', 'rate_limited', 'rejected') OR error IS NOT NULL THEN
        w.error := error;
        w.reason := reason;
        w.exit_code := (p_more->>'exit_code')::integer;
    END IF;
    IF outcome IN ('expired', 'released') THEN
        events := ARRAY[dibs.event('task.' || outcome, p_at, s.id, s.dag, w.agent, reason)];
        IF outcome = 'released' AND error IS NOT NULL THEN
            -- Why it was stopped is told once.
            reason := 'released';
        END IF;
    END IF;
    IF p_more ? 'rungs' THEN
        events := events || dibs.take_rungs(p_at, p_n, p_fence, w.agent, w.attempts, p_more->'rungs');
    END IF;

    IF next IN ('completed', 'dead_lettered') THEN
        w.status := next;
        PERFORM dibs.end_task(
            w, p_at, false, p_output, p_decision, p_more->>'artifacts',
            coalesce((p_more->>'output_sanitized')::boolean, false)
        );
        events := events || dibs.event('task.' || next, p_at, s.id, s.dag, w.agent, reason, p_data);
        IF next = 'completed' AND w.ties & 1 > 0 THEN
            SELECT array_agg(x.id ORDER BY x.id) INTO released
            FROM dibs.edges x WHERE x.parent = p_n AND x.resolved_at IS NULL;
            events := events || dibs.resolve(released, p_at);
        ELSIF next = 'dead_lettered' THEN
            DELETE FROM dibs.keys k WHERE k.project = s.project AND k.key = s.key AND k.n = p_n;
            UPDATE dibs.ended x SET marked = true WHERE x.n = p_n;
            marked := true;
        END IF;
        RETURN;
    END IF;
    UPDATE dibs.work x SET
        status = next,
        attempts = w.attempts, crashes = w.crashes, releases = w.releases, solo = w.solo, poison_pill = w.poison_pill,
        timeout_s = w.timeout_s, cost_usd = w.cost_usd, tokens_in = w.tokens_in, tokens_out = w.tokens_out,
        turns = w.turns, error = w.error, reason = w.reason, exit_code = w.exit_code,
        retry_at = w.retry_at, due_at = w.retry_at,
        lane = CASE
            WHEN coalesce((p_more->>'fallback')::boolean, false) THEN coalesce(s.fallback_lane, x.lane) ELSE x.lane
        END,
        agent = CASE WHEN next = 'validating' THEN x.agent END,
        lease_expires_at = NULL, timeout_at = NULL, confirmed = false, updated_at = p_at
    WHERE x.n = p_n;
    IF next = 'validating' THEN
        INSERT INTO dibs.submitted (n, output, decision, output_sanitized)
        VALUES (p_n, p_output, p_decision, coalesce((p_more->>'output_sanitized')::boolean, false));
        events := events || dibs.event('task.validating', p_at, s.id, s.dag, w.agent);
        RETURN;
    END IF;
    IF coalesce((p_more->>'fallback')::boolean, false) THEN
        PERFORM dibs.use_lane(s.fallback_lane);
    END IF;
    IF p_more ? 'rungs' THEN
        relaned := dibs.reassign(p_n, p_more->'rungs');
    END IF;
    IF next = 'waiting' THEN
        events := events || dibs.wait_for_rung(
            p_at, p_n, p_fence, w.agent, w.attempts, error, p_more->'rungs', p_data
        );
    ELSIF next = 'retrying' THEN
        events := events || dibs.event('task.retrying', p_at, s.id, s.dag, w.agent, reason, p_data);
    ELSE
        events := events || dibs.make_ready(ARRAY[p_n], p_at, w.agent, reason, p_data);
    END IF;
END $$;
