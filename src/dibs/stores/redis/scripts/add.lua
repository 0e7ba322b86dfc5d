-- Add standalone tasks that are ready at once.
--
-- KEYS  1 meta
-- ARGV  1-3 see common
--       4 kinds: an array of {lane, boost, priority, kind, field, value, field, value …} (MessagePack);
--         what its tasks have in common, `kind` being how they are counted
--       5… for each task: its id, its dag, the number of its kind, its specification, its payload
-- Reply {'ok', now} | {'slow'} (an id is taken) | see common
local kinds = cmsgpack.unpack(ARGV[4])
for i = 5, #ARGV, 5 do
  if redis.call('EXISTS', task(ARGV[i])) == 1 then
    return {'slow'}
  end
end
begin()
local number = tonumber(redis.call('HGET', KEYS[1], 'number') or '0')
for _, kind in ipairs(kinds) do
  kind.rank = exact(kind[3] + kind[2] * ((now - EPOCH) / MINUTE))
end
for i = 5, #ARGV, 5 do
  number = number + 1
  local id, dag, kind = ARGV[i], ARGV[i + 1], kinds[tonumber(ARGV[i + 2])]
  local stands = member(number, kind[1], id)
  redis.call('HSET', task(id), 'number', whole(number), 'dag_id', dag, 'spec', ARGV[i + 3], 'payload', ARGV[i + 4],
    'status', 'ready', 'rank', kind.rank, 'created_at', at, 'ready_at', at, 'updated_at', at,
    'lane', kind[1], 'kind', kind[4], unpack(kind, 5))
  redis.call('ZADD', prefix .. 'all', whole(number), id)
  redis.call('ZADD', order('lane:' .. kind[1]), kind.rank, stands)
  redis.call('ZADD', order('ready:' .. kind[1]), at, stands)
  count(kind[4], 'ready', 1)
  tell('task.added', 'at', at, 'task', id, 'dag', dag)
  tell('task.ready', 'at', at, 'task', id, 'dag', dag)
end
redis.call('HSET', KEYS[1], 'number', whole(number))
finish()
return {'ok', at}
