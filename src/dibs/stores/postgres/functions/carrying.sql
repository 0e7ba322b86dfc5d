-- While a store is being filled or left, every statement that would change it is refused, unless it carries something in.
-- Triggers that call this exist only then (carrying.py): nobody pays for the question otherwise.
CREATE OR REPLACE FUNCTION dibs.guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('dibs_guard.carrying', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE SQLSTATE 'DB001' USING
        MESSAGE = 'stands', DETAIL = json_build_array((SELECT m.value FROM dibs.meta m WHERE m.name = 'standing'))::text;
END $$;
