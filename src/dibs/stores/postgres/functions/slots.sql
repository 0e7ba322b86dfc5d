-- Slots of types: how many tasks of a type may be held at once, counted from what is held. As rules.slots and the contract
-- say. Claims of a project take turns, so nobody else can add to what is counted.

-- How many tasks of each type are held, or were cancelled and not stopped yet. The table of held tasks is small, and
-- another index would cost every claim.
CREATE OR REPLACE FUNCTION dibs.held_by_type(p_project text) RETURNS TABLE (type text, held bigint) LANGUAGE sql STABLE
SET enable_seqscan = on AS $$
    SELECT t.type, count(*) FROM (
        SELECT l.type FROM dibs.held w JOIN dibs.lanes l ON l.id = w.lane WHERE l.project = p_project
        UNION ALL
        SELECT s.type FROM dibs.ended e JOIN dibs.specs s ON s.n = e.n
        WHERE e.due_at IS NOT NULL AND s.project = p_project
    ) t GROUP BY t.type
$$;

-- How many more tasks of each of these types may be handed out, by their slots and their rates; NULL: any number.
CREATE OR REPLACE FUNCTION dibs.rooms(p_project text, p_types text[], p_at bigint) RETURNS integer[] LANGUAGE sql STABLE
SET enable_seqscan = on AS $$
    SELECT array_agg(
        least(
            CASE WHEN s.slots IS NOT NULL THEN greatest(0, s.slots - coalesce(h.held, 0)) END,
            CASE WHEN r.type IS NOT NULL THEN dibs.tokens(r, p_at) END
        )::integer ORDER BY t.place
    )
    FROM unnest(p_types) WITH ORDINALITY AS t (type, place)
    LEFT JOIN dibs.type_slots s ON s.project = p_project AND s.type = t.type
    LEFT JOIN dibs.rates r ON r.project = p_project AND r.type = t.type
    LEFT JOIN dibs.held_by_type(p_project) h ON h.type = t.type
$$;

-- How many tasks of a type may be held at once; NULL: any number. Answers as type_slots_of. Locks: claims of the project,
-- the lanes' version.
CREATE OR REPLACE FUNCTION dibs.set_type_slots(p_project text, p_type text, p_slots integer) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM dibs.hold_claims(p_project);
    IF p_slots IS NULL THEN
        DELETE FROM dibs.type_slots s WHERE s.project = p_project AND s.type = p_type;
    ELSE
        INSERT INTO dibs.type_slots (project, type, slots) VALUES (p_project, p_type, p_slots)
        ON CONFLICT (project, type) DO UPDATE SET slots = excluded.slots;
    END IF;
    PERFORM dibs.change_lanes();
    RETURN dibs.type_slots_of(p_project, p_type);
END $$;

-- The types of a project that have slots, by name, or one of them: `[[type, slots, held], …]`.
CREATE OR REPLACE FUNCTION dibs.type_slots_of(p_project text, p_type text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce(json_agg(json_build_array(s.type, s.slots, coalesce(h.held, 0)) ORDER BY s.type), '[]')::text
    FROM dibs.type_slots s LEFT JOIN dibs.held_by_type(p_project) h ON h.type = s.type
    WHERE s.project = p_project AND (p_type IS NULL OR s.type = p_type)
$$;
