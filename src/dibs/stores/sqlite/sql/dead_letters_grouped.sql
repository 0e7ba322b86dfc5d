-- Follows on dead_letters.sql: in groups, the largest first. :shown ids of each, at most :most groups.
, placed AS (
    SELECT *, row_number() OVER (PARTITION BY type, mark ORDER BY at DESC, n DESC) AS place FROM dead
), grouped AS (
    SELECT
        type, mark, min(at) AS first_at, max(at) AS last_at, count(*) AS count, sum(resolution IS NULL) AS unreviewed,
        sum(poison_pill) AS poison_pills, sum(cost_usd) AS cost_usd, sum(cost_usd IS NULL) AS unpriced,
        json_group_array(json_array(place, id)) FILTER (WHERE place <= :shown) AS ids,
        max(n) FILTER (WHERE place = 1) AS newest
    FROM placed GROUP BY type, mark
)
SELECT
    g.type, g.mark, g.first_at, g.last_at, t.reason, t.error, g.count, g.unreviewed, g.poison_pills, g.cost_usd,
    g.unpriced, g.ids
FROM grouped AS g
CROSS JOIN tasks AS t ON t.n = g.newest
ORDER BY g.count DESC, g.last_at DESC, g.type, g.mark
LIMIT :most
