-- Windows of budgets. When each ends is computed by rules.windows, which knows time zones; here it is written down.

-- Let those of these budgets begin anew whose window ended when the caller says (p_were), the next one ending at p_ends; and
-- in who fits. How many began anew.
-- Locks: claims of the project, floors (shared), locks, the lanes' version.
CREATE OR REPLACE FUNCTION dibs.roll_windows(
    p_now bigint, p_project text, p_names text[], p_were bigint[], p_ends bigint[]
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    begun text[];
BEGIN
    PERFORM dibs.hold_claims(p_project);
    PERFORM dibs.hold_floors();
    PERFORM dibs.hold_locks();
    WITH rolled AS (
        UPDATE dibs.budgets b SET reserved = 0, spent = 0, unpriced = 0, window_no = b.window_no + 1, ends_at = w.ends
        FROM unnest(p_names, p_were, p_ends) AS w (name, was, ends)
        WHERE b.project = p_project AND b.name = w.name AND b.ends_at = w.was
        RETURNING b.name
    )
    SELECT coalesce(array_agg(r.name), '{}') INTO begun FROM rolled r;
    IF cardinality(begun) > 0 THEN
        PERFORM dibs.change_lanes();
        PERFORM dibs.open_budgets(p_project, begun, coalesce(p_now, dibs.micros()));
    END IF;
    RETURN cardinality(begun);
END $$;
