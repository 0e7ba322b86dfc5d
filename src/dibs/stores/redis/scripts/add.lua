-- Add standalone tasks that are ready at once.
--
-- KEYS  1 meta
-- ARGV  1-3 see common
--       4 kinds: an array of {lane, boost, priority, kind, field, value, field, value …} (MessagePack);
--         what its tasks have in common, `kind` being how they are counted
--       5 the ids of all tasks, as a JSON array
--       6… for each task: its id, its dag, the number of its kind, its specification, its payload
-- Reply {'ok', now} | {'slow'} (an id is taken) | see common
local keys = {}
for i = 6, #ARGV, 5 do
  keys[#keys + 1] = prefix .. 't:' .. ARGV[i]
end
if how_many_exist(keys) > 0 then
  return {'slow'}
end
begin()
local kinds = cmsgpack.unpack(ARGV[4])
for _, kind in ipairs(kinds) do
  kind.rank = exact(kind[3] + kind[2] * minutes)
  kind.added = 0
end
local number = redis.call('HINCRBY', KEYS[1], 'number', #keys) - #keys
local all = {}
local sets, put = gathered()
for place, key in ipairs(keys) do
  number = number + 1
  local i = 1 + 5 * place
  local id, kind = ARGV[i], kinds[tonumber(ARGV[i + 2])]
  redis.call('HSET', key, 'number', number, 'dag_id', ARGV[i + 1], 'spec', ARGV[i + 3], 'payload', ARGV[i + 4],
    'status', 'ready', 'rank', kind.rank, 'created_at', at, 'ready_at', at, 'updated_at', at, 'plain', '1',
    'lane', kind[1], 'kind', kind[4], unpack(kind, 5))
  local stands = string.format('%015d:%s:%s', number, kind[1], id)
  all[#all + 1] = number
  all[#all + 1] = id
  put(order('lane:' .. kind[1]), kind.rank, stands)
  put(order('ready:' .. kind[1]), at, stands)
  kind.added = kind.added + 1
end
each('ZADD', prefix .. 'all', all)
for key, parts in pairs(sets) do
  each('ZADD', key, parts)
end
for _, kind in ipairs(kinds) do
  count(kind[4], 'ready', kind.added)
end
finish('["task.added","task.ready"]', 2, 'null', ARGV[5], #keys)
return {'ok', at}
