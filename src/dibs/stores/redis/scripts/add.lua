-- Add standalone tasks that are ready at once, in short (`layout.SHORT`).
--
-- KEYS  1 meta
-- ARGV  1-3 see common
--       4 kinds: an array of {lane, boost, priority, kind, field, value, field, value …} (MessagePack);
--         what its tasks have in common, `kind` being how they are counted
--       5 the ids of all tasks, as a JSON array
--       6… for each task: its id, the number of its kind, its specification, its payload
-- Reply {'ok', now} | {'slow'} (an id is taken) | see common
local keys = {}
for i = 6, #ARGV, 4 do
  keys[#keys + 1] = prefix .. 't:' .. ARGV[i]
end
if how_many_exist(keys) > 0 then
  return {'slow'}
end
begin()
local kinds = cmsgpack.unpack(ARGV[4])
for _, kind in ipairs(kinds) do
  kind.rank = kind[3] + kind[2] * minutes
  kind.score = exact(kind.rank)
  kind.added = 0
end
local number = redis.call('HINCRBY', KEYS[1], 'number', #keys) - #keys
local all = {}
local sets, put = gathered()
for place, key in ipairs(keys) do
  number = number + 1
  local i = 2 + 4 * place
  local id, kind = ARGV[i], kinds[tonumber(ARGV[i + 1])]
  redis.call('HSET', key, 'new', cmsgpack.pack({number, kind[1], now, kind.score, kind[4]}), 'spec', ARGV[i + 2],
    'payload', ARGV[i + 3], unpack(kind, 5))
  local stands = string.format('%015d:%s:%s', number, kind[1], id)
  all[#all + 1] = number
  all[#all + 1] = id
  put('lane:' .. kind[1], kind.score, stands)
  put('ready:' .. kind[1], at, stands)
  kind.added = kind.added + 1
end
each('ZADD', prefix .. 'all', all)
for name, parts in pairs(sets) do
  each('ZADD', order(name), parts)
end
for _, kind in ipairs(kinds) do
  count(kind[4], 'ready', kind.added)
end
finish('["task.added","task.ready"]', 2, 'null', ARGV[5], #keys)
return {'ok', at}
