-- Hand out the best tasks of lanes without gates.
--
-- KEYS  1 meta
-- ARGV  1-3 see common  4 the agent  5 how many  6 for how long, in seconds  7 '1': start them
--       8 how many bytes all payloads may have  9… for each lane: its number, boost, and the model for its tasks ('')
-- Reply {'ok', now, a task, 1 if edges lead to it, …} | {'ok', now} (nothing) | {'slow'} | see common
--       A task is all its fields and their values; one that was never touched since it was added, these values:
--       spec, payload, dag_id, rank, created_at, ready_at, priority, timeout_s, expects, depth, fence, lane
local agent, most, lease, starts = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7] == '1'
local room = tonumber(ARGV[8])

-- The heads of all lanes, by effective priority; equal ones in the order of insertion.
local heads = {}
for i = 9, #ARGV, 3 do
  local lane, boost = ARGV[i], tonumber(ARGV[i + 1])
  local shift = boost * ((now - EPOCH) / MINUTE)
  local found = redis.call('ZRANGE', order('lane:' .. lane), 0, most - 1, 'WITHSCORES')
  for j = 1, #found, 2 do
    heads[#heads + 1] = {found[j + 1] - shift, found[j], lane, ARGV[i + 2]}
  end
end
if #ARGV > 11 then
  table.sort(heads, function(a, b)
    if a[1] ~= b[1] then
      return a[1] < b[1]
    end
    return a[2] < b[2]
  end)
end

-- Look at them.
local chosen = {}
local size = 0
for _, head in ipairs(heads) do
  if #chosen >= most then
    break
  end
  local id = string.sub(head[2], 18 + #head[3])
  local key = task(id)
  local found = redis.call('HMGET', key, 'ties', 'fence', 'kind', 'dag_id', 'timeout_s', 'step_at', 'status')
  if found[1] or found[7] ~= 'ready' then
    return {'slow'}
  end
  size = size + redis.call('HSTRLEN', key, 'payload')
  if #chosen > 0 and size > room then
    break
  end
  local dag = prefix .. 'd:' .. found[4]
  local row = redis.call('HMGET', dag, 'status', 'started')
  if row[1] and not (row[1] == 'running' and row[2]) then
    return {'slow'}
  end
  chosen[#chosen + 1] = {id = id, key = key, found = found, head = head, dag = row[1] and dag}
end
if #chosen == 0 then
  return {'ok', at}
end

-- A task as it is handed over; `usual` is how many fields one has of which nothing is unusual.
local function shown(key, fence, lane, usual, fresh)
  if fresh then
    local values = redis.call('HMGET', key, 'spec', 'payload', 'dag_id', 'rank', 'created_at', 'ready_at', 'priority',
      'timeout_s', 'expects', 'depth')
    for i = 7, 10 do
      usual = usual + (values[i] and 1 or 0)
    end
    if starts and values[8] then
      usual = usual + 1
    end
    if redis.call('HLEN', key) == usual then
      values[11], values[12] = fence, lane
      return values
    end
  end
  return redis.call('HGETALL', key)
end

begin()
local floor = tonumber(redis.call('HGET', KEYS[1], 'floor') or '0')
local until_ = now + seconds(lease)
local lease_ends = whole(until_)
local status = starts and 'running' or 'claimed'
local reply = {'ok', at}
local names = {}
for _, one in ipairs(chosen) do
  local found, id, lane, model = one.found, one.id, one.head[3], one.head[4]
  local fence = whole(math.max(tonumber(found[2] or '0') + 1, floor))
  if found[2] then
    redis.call('HDEL', one.key, 'renewed_at', 'progress', 'note', 'usage', 'started_at', 'timeout_at', 'model',
      'confirmed')
  end
  local fields = {'status', status, 'fence', fence, 'agent', agent, 'lease_s', ARGV[6],
    'lease_expires_at', lease_ends, 'claimed_at', at, 'updated_at', at}
  local function keep(name, value)
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
  local over = until_
  tell('task.claimed', 'at', at, 'task', id, 'dag', found[4], 'agent', agent)
  if starts then
    keep('started_at', at)
    if found[5] then
      local timeout = now + seconds(tonumber(found[5]))
      keep('timeout_at', whole(timeout))
      over = math.min(over, timeout)
    end
    tell('task.started', 'at', at, 'task', id, 'dag', found[4], 'agent', agent)
  end
  if model ~= '' then
    keep('model', model)
  end
  redis.call('HSET', one.key, unpack(fields))
  local stands = one.head[2]
  redis.call('ZREM', order('lane:' .. lane), stands)
  redis.call('ZREM', order('ready:' .. lane), stands)
  if found[6] then
    redis.call('ZREM', order('steps'), stands)
  end
  redis.call('ZADD', order('leases'), whole(over), stands)
  count(found[3], 'ready', -1)
  count(found[3], status, 1)
  if one.dag then
    redis.call('HINCRBY', one.dag, 'c:0:ready', -1)
    redis.call('HINCRBY', one.dag, 'c:0:' .. status, 1)
  end
  reply[#reply + 1] = shown(one.key, fence, lane, 16 + (starts and 1 or 0) + (model ~= '' and 1 or 0), not found[2])
  reply[#reply + 1] = redis.call('EXISTS', prefix .. 'in:' .. id)
  names[#names + 1] = id
end
if ARGV[3] ~= '' then
  redis.call('HSET', prefix .. 'taken', ARGV[3], cmsgpack.pack(names))
end
finish()
return reply
