-- Agents: who was heard of, what they are registered with, what they hold. `stores.agents` has the rules in Python.
--
-- What claims go by (a registration, or draining) is remembered by the processes that claim. A change of it moves the
-- counter of lanes, which every claim compares anyway: an agent without a rule pays nothing for those that have one.

-- An agent was heard of: by a claim, with what it offers (JSON), or by a renewal (NULL), of which only known ones are
-- written down. Answers when it was last written down, which is at most every 5 s unless its offer changed or it was gone.
-- Locks: its row.
CREATE OR REPLACE FUNCTION dibs.hear_agent(p_project text, p_agent text, p_offer text, p_at bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    known dibs.agents;
    back boolean;
BEGIN
    SELECT a.* INTO known FROM dibs.agents a WHERE a.project = p_project AND a.id = p_agent FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        IF p_offer IS NOT NULL THEN
            INSERT INTO dibs.agents (project, id, offer, heard_at, started_at) VALUES (p_project, p_agent, p_offer, p_at, p_at)
            ON CONFLICT (project, id) DO NOTHING;
            IF FOUND THEN
                PERFORM dibs.publish(ARRAY[dibs.home_event('agent.registered', p_at, p_project, p_agent)], p_at);
            END IF;
        END IF;
        RETURN p_at;
    END IF;
    back := known.offline_at IS NOT NULL OR known.lost_at IS NOT NULL;
    IF NOT back AND known.offer = coalesce(p_offer, known.offer) AND p_at - known.heard_at BETWEEN 0 AND 4999999 THEN
        RETURN known.heard_at;
    END IF;
    UPDATE dibs.agents a SET
        offer = coalesce(p_offer, a.offer),
        heard_at = p_at,
        -- Whatever was registered with one that is offline is over; this is somebody new of that name.
        started_at = CASE WHEN a.offline_at IS NULL THEN a.started_at ELSE p_at END,
        process = CASE WHEN a.offline_at IS NULL THEN a.process END,
        offline_at = NULL,
        lost_at = NULL,
        reason = NULL
    WHERE a.project = p_project AND a.id = p_agent;
    IF back THEN
        PERFORM dibs.publish(ARRAY[dibs.home_event('agent.returned', p_at, p_project, p_agent)], p_at);
    END IF;
    RETURN p_at;
END $$;

-- Whoever renewed one of these tasks just now is heard of, too.
CREATE OR REPLACE FUNCTION dibs.hear_renewals(p_ns bigint[], p_at bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM dibs.hear_agent(r.project, r.agent, NULL, p_at) FROM (
        SELECT DISTINCT a.project, a.id AS agent
        FROM dibs.held w JOIN dibs.lanes l ON l.id = w.lane JOIN dibs.agents a ON a.project = l.project AND a.id = w.agent
        WHERE w.n = ANY (p_ns) AND w.renewed_at = p_at
            AND (a.lost_at IS NOT NULL OR a.offline_at IS NOT NULL OR NOT p_at - a.heard_at BETWEEN 0 AND 4999999)
        ORDER BY a.project, a.id
    ) r;
END $$;

-- How many tasks an agent holds. The table of held tasks is small, and another index would cost every claim.
CREATE OR REPLACE FUNCTION dibs.count_held(p_project text, p_agent text) RETURNS integer LANGUAGE sql STABLE
SET enable_seqscan = on AS $$
    SELECT count(*)::integer FROM dibs.held w
    WHERE w.agent = p_agent AND EXISTS (SELECT 1 FROM dibs.lanes l WHERE l.id = w.lane AND l.project = p_project)
$$;

-- Write down what is known of an agent now, if it is still as it was when that was decided: p_was is the version of its
-- row, NULL if there was none. Whether it was. p_ruled: what claims go by has changed; claims of the project that are
-- under way end first.
-- Locks: claims of the project (if p_ruled), its row, the counter of lanes.
CREATE OR REPLACE FUNCTION dibs.write_agent(
    p_at bigint, p_was text, p_project text, p_id text, p_offer text, p_heard_at bigint, p_started_at bigint,
    p_registered text, p_process text, p_draining_at bigint, p_drained_at bigint, p_offline_at bigint, p_lost_at bigint,
    p_reason text, p_events text[], p_ruled boolean
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    written boolean;
BEGIN
    IF p_ruled THEN
        PERFORM pg_advisory_xact_lock('dibs.work'::regclass::oid::integer, hashtext(p_project));
    END IF;
    IF p_was IS NULL THEN
        INSERT INTO dibs.agents (project, id, offer, heard_at, started_at, registered, process)
        VALUES (p_project, p_id, p_offer, p_heard_at, p_started_at, p_registered, p_process)
        ON CONFLICT (project, id) DO NOTHING;
    ELSE
        UPDATE dibs.agents a SET
            offer = p_offer, heard_at = p_heard_at, started_at = p_started_at, registered = p_registered,
            process = p_process, draining_at = p_draining_at, drained_at = p_drained_at, offline_at = p_offline_at,
            lost_at = p_lost_at, reason = p_reason
        WHERE a.project = p_project AND a.id = p_id AND a.xmin::text = p_was;
    END IF;
    written := FOUND;
    IF written THEN
        IF p_ruled THEN
            PERFORM dibs.change_lanes();
        END IF;
        PERFORM dibs.publish(
            (SELECT array_agg(dibs.home_event(e.type, p_at, p_project, p_id, p_reason) ORDER BY e.place)
                FROM unnest(p_events) WITH ORDINALITY AS e (type, place)),
            p_at
        );
    END IF;
    RETURN written;
END $$;

-- Mark agents that were silent for so long as lost (NULL: do not look for them), and draining ones that hold nothing more
-- as drained; of all agents, or of one. How many events that made.
-- Locks: rows of agents, by name.
CREATE OR REPLACE FUNCTION dibs.watch_agents(p_now bigint, p_lost_after_s float8, p_project text, p_id text)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    at bigint := coalesce(p_now, dibs.micros());
    known dibs.agents;
    events text[] := '{}';
BEGIN
    FOR known IN
        SELECT a.* FROM dibs.agents a
        WHERE (p_id IS NULL OR (a.project = p_project AND a.id = p_id))
            AND (
                (a.draining_at IS NOT NULL AND a.drained_at IS NULL)
                OR (a.lost_at IS NULL AND a.offline_at IS NULL AND a.heard_at < at - round(p_lost_after_s * 1000000)::bigint)
            )
        ORDER BY a.project, a.id FOR NO KEY UPDATE
    LOOP
        IF known.draining_at IS NOT NULL AND known.drained_at IS NULL
            AND dibs.count_held(known.project, known.id) = 0
        THEN
            UPDATE dibs.agents a SET drained_at = at WHERE a.project = known.project AND a.id = known.id;
            events := events || dibs.home_event('agent.drained', at, known.project, known.id);
        END IF;
        IF known.lost_at IS NULL AND known.offline_at IS NULL
            AND known.heard_at < at - round(p_lost_after_s * 1000000)::bigint
        THEN
            UPDATE dibs.agents a SET lost_at = at WHERE a.project = known.project AND a.id = known.id;
            events := events || dibs.home_event('agent.lost', at, known.project, known.id);
        END IF;
    END LOOP;
    PERFORM dibs.publish(events, at);
    RETURN cardinality(events);
END $$;

-- Forget agents that were not heard of since. Whether claims went by what is known of one of them.
CREATE OR REPLACE FUNCTION dibs.forget_agents(p_before bigint) RETURNS boolean LANGUAGE sql AS $$
    WITH gone AS (DELETE FROM dibs.agents a WHERE a.heard_at < p_before RETURNING a.registered, a.draining_at)
    SELECT EXISTS (SELECT 1 FROM gone g WHERE g.registered IS NOT NULL OR g.draining_at IS NOT NULL)
$$;
