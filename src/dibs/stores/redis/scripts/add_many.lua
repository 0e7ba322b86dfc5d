-- Add standalone tasks that are ready at once, in short (`short`).
--
-- KEYS  1 meta
-- ARGV  1-3 see common
--       4 kinds: an array of {lane, boost, priority, kind, also} (MessagePack): what its tasks have in common, `kind`
--         being how they are counted, and `also` what is not as usual, if anything
--       5 the ids of all tasks, as a JSON array
--       6… for each task: its id, the number of its kind, its specification, its payload
-- Reply {'ok', when} | {'slow'} (an id is taken) | see common
local keys, taken = {}, 0
for i = 6, #ARGV, 4 do
  keys[#keys + 1] = prefix .. 't:' .. ARGV[i]
end
for i = 1, #keys, MOST do
  taken = taken + call('EXISTS', unpack(keys, i, math.min(i + MOST - 1, #keys)))
end
if taken > 0 then
  -- Said before, it has happened: the ids are this caller's.
  local seen = call('HMGET', keys[1], 'new', 'created_at')
  if ARGV[3] == '' or not (seen[1] or seen[2]) then
    return {'slow'}
  end
  return {'ok', seen[2] or whole(cmsgpack.unpack(seen[1])[3])}
end
local hindered = hindrance()
if hindered then
  return hindered
end
begin(2 * #keys, #keys)
local kinds = cmsgpack.unpack(ARGV[4])
for _, kind in ipairs(kinds) do
  kind.score = exact(kind[3] + kind[2] * minutes)
  kind.also = kind[5] and {'also', kind[5]} or {}
  kind.by_rank, kind.by_age = {}, {}
end
local all = {}
for place, key in ipairs(keys) do
  number = number + 1
  local i = 2 + 4 * place
  local id, kind = ARGV[i], kinds[tonumber(ARGV[i + 1])]
  call('HSET', key, 'new', cmsgpack.pack({number, kind[1], now, kind.score, kind[4]}), 'spec', ARGV[i + 2],
    'payload', ARGV[i + 3], unpack(kind.also))
  local stands = string.format('%015d:%s:%s', number, kind[1], id)
  local last = 2 * place
  all[last - 1], all[last] = number, id
  last = #kind.by_rank
  kind.by_rank[last + 1], kind.by_rank[last + 2] = kind.score, stands
  kind.by_age[last + 1], kind.by_age[last + 2] = at, stands
end
each('ZADD', prefix .. 'all', all)
for _, kind in ipairs(kinds) do
  each('ZADD', order('lane:' .. kind[1]), kind.by_rank)
  each('ZADD', order('ready:' .. kind[1]), kind.by_age)
end
finish('["task.added","task.ready"]', 2 * #keys, 'null', ARGV[5])
return {'ok', at}
