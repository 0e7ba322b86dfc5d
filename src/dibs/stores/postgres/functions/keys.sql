-- Parts of `insert`: keys, each of which stands for one task.

-- The first draft with a free key gets it; drafts whose key is taken are answered by its owner, if both say the same.
-- Whoever is just about to take a key is waited for; keys are taken in order, so that nobody waits in a circle.
-- `leads`: the place of the draft that answers each, if that is one of this call; else its own.
CREATE OR REPLACE FUNCTION dibs.take_keys(
    p_ids text[], p_ns bigint[], p_fresh boolean[], p_keys text[], p_hashes text[], p_frame integer[], f_project text[],
    OUT ns bigint[], OUT fresh boolean[], OUT leads integer[]
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    mine record;
    hash text;
    owner text;
BEGIN
    ns := p_ns;
    fresh := p_fresh;
    leads := ARRAY(SELECT generate_series(1, cardinality(p_ns)));
    INSERT INTO dibs.keys (project, key, n)
    SELECT DISTINCT ON (d.project, d.key) d.project, d.key, d.n
    FROM (
        SELECT f_project[u.frame] AS project, u.key, u.n, u.place
        FROM unnest(p_keys, p_frame, p_ns, p_fresh) WITH ORDINALITY AS u (key, frame, n, fresh, place)
        WHERE u.fresh AND u.key IS NOT NULL
    ) d
    ORDER BY d.project, d.key, d.place
    ON CONFLICT (project, key) DO NOTHING;
    FOR mine IN
        SELECT d.place::integer AS place, d.key, d.hash, d.n, k.n AS owner, s.id, s.body_hash
        FROM unnest(p_keys, p_hashes, p_frame, p_ns, p_fresh) WITH ORDINALITY AS d (key, hash, frame, n, fresh, place)
        LEFT JOIN dibs.keys k ON k.project = f_project[d.frame] AND k.key = d.key
        LEFT JOIN dibs.specs s ON s.n = k.n
        WHERE d.fresh AND d.key IS NOT NULL AND k.n IS DISTINCT FROM d.n
        ORDER BY d.place
    LOOP
        IF mine.owner IS NULL THEN
            -- Its owner lost it in this very moment.
            PERFORM dibs.look_again();
        END IF;
        IF mine.id IS NULL THEN
            -- Another draft of this call.
            leads[mine.place] := array_position(p_ns, mine.owner);
            owner := p_ids[leads[mine.place]];
            hash := p_hashes[leads[mine.place]];
        ELSE
            owner := mine.id;
            hash := mine.body_hash;
        END IF;
        IF hash IS DISTINCT FROM mine.hash THEN
            PERFORM dibs.refuse('key_of_task', json_build_array(mine.key, owner));
        END IF;
        ns[mine.place] := mine.owner;
        fresh[mine.place] := false;
    END LOOP;
END $$;

-- Which specifications came without `depends_on`: those of drafts that depend on one with a key.
CREATE OR REPLACE FUNCTION dibs.only_where_keys(p_named text[], p_keys text[], e_child integer[], e_parent integer[])
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    kept text[] := array_fill(NULL::text, ARRAY[cardinality(p_named)]);
BEGIN
    FOR i IN 1 .. coalesce(cardinality(e_child), 0) LOOP
        IF e_parent[i] > 0 AND p_keys[e_parent[i]] IS NOT NULL THEN
            kept[e_child[i]] := p_named[e_child[i]];
        END IF;
    END LOOP;
    RETURN kept;
END $$;
