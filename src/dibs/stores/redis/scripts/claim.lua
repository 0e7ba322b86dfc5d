-- Hand out the best tasks of lanes without gates.
--
-- KEYS  1 meta
-- ARGV  1-3 see common  4 the agent  5 how many  6 for how long, in seconds  7 '1': start them
--       8 how many bytes all payloads may have  9… for each lane: its number, boost, and the model for its tasks ('')
-- Reply {'ok', now, a task, 1 if edges lead to it, …} | {'ok', now} (nothing) | {'slow'} | see common
--       A task is all its fields and their values; one that nobody has touched since it was added, these values:
--       spec, payload, dag_id, rank, created_at, ready_at, priority, timeout_s, expects, depth, fence, lane
local agent, most, starts = ARGV[4], tonumber(ARGV[5]), ARGV[7] == '1'
local room = tonumber(ARGV[8])

-- The heads of all lanes, by effective priority; equal ones in the order of insertion.
local heads = {}
for i = 9, #ARGV, 3 do
  local lane = ARGV[i]
  local shift = tonumber(ARGV[i + 1]) * minutes
  local found = redis.call('ZRANGE', order('lane:' .. lane), 0, most - 1, 'WITHSCORES')
  for j = 1, #found, 2 do
    heads[#heads + 1] = {found[j + 1] - shift, found[j], lane, ARGV[i + 2]}
  end
end
if #heads == 0 then
  return {'ok', at}
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
local chosen, rows, edges = {}, {}, {}
local size = 0
for _, head in ipairs(heads) do
  if #chosen >= most then
    break
  end
  local id = string.sub(head[2], 18 + #head[3])
  local key = prefix .. 't:' .. id
  local seen = redis.call('HMGET', key, 'spec', 'payload', 'dag_id', 'rank', 'created_at', 'ready_at', 'priority',
    'timeout_s', 'expects', 'depth', 'fence', 'status', 'ties', 'kind', 'step_at', 'plain')
  if seen[12] ~= 'ready' or seen[13] then
    return {'slow'}
  end
  size = size + #seen[2]
  if #chosen > 0 and size > room then
    break
  end
  seen.id, seen.key, seen.stands, seen.lane, seen.model = id, key, head[2], head[3], head[4]
  chosen[#chosen + 1] = seen
  rows[#rows + 1] = prefix .. 'd:' .. seen[3]
  edges[#edges + 1] = prefix .. 'in:' .. id
end
local in_dags = how_many_exist(rows) > 0
local have_edges = how_many_exist(edges) > 0
if in_dags then
  for i, seen in ipairs(chosen) do
    local row = redis.call('HMGET', rows[i], 'status', 'started')
    if row[1] and not (row[1] == 'running' and row[2]) then
      -- It begins with this claim.
      return {'slow'}
    end
    seen.dag = row[1] and rows[i]
  end
end

begin()
local floor = tonumber(redis.call('HGET', KEYS[1], 'floor') or '0')
local ends = now + seconds(tonumber(ARGV[6]))
local lease_ends = whole(ends)
local status = starts and 'running' or 'claimed'
local reply, names, items, leases = {'ok', at}, {}, {}, {}
local sets, take = gathered()
for i, seen in ipairs(chosen) do
  local fence = whole(math.max(tonumber(seen[11] or '0') + 1, floor))
  local fields = {'status', status, 'fence', fence, 'agent', agent, 'lease_s', ARGV[6], 'lease_expires_at', lease_ends,
    'claimed_at', at, 'updated_at', at}
  if seen[11] then
    redis.call('HDEL', seen.key, 'renewed_at', 'progress', 'note', 'usage', 'started_at', 'timeout_at', 'model',
      'confirmed')
  end
  local over = lease_ends
  if starts then
    fields[15], fields[16] = 'started_at', at
    if seen[8] then
      local timeout = now + seconds(tonumber(seen[8]))
      fields[17], fields[18] = 'timeout_at', whole(timeout)
      over = whole(math.min(ends, timeout))
    end
  end
  if seen.model ~= '' then
    fields[#fields + 1] = 'model'
    fields[#fields + 1] = seen.model
  end
  redis.call('HSET', seen.key, unpack(fields))
  take(order('lane:' .. seen.lane), seen.stands)
  take(order('ready:' .. seen.lane), seen.stands)
  if seen[15] then
    take(order('steps'), seen.stands)
  end
  leases[#leases + 1] = over
  leases[#leases + 1] = seen.stands
  count(seen[14], 'ready', -1)
  count(seen[14], status, 1)
  if seen.dag then
    redis.call('HINCRBY', seen.dag, 'c:0:ready', -1)
    redis.call('HINCRBY', seen.dag, 'c:0:' .. status, 1)
  end
  items[#items + 1] = '[' .. cjson.encode(seen.id) .. ',' .. cjson.encode(seen[3]) .. ']'
  names[#names + 1] = seen.id
  if seen[16] and not seen[11] then
    reply[#reply + 1] = {seen[1], seen[2], seen[3], seen[4], seen[5], seen[6], seen[7], seen[8], seen[9], seen[10], fence,
      seen.lane}
  else
    reply[#reply + 1] = redis.call('HGETALL', seen.key)
  end
  reply[#reply + 1] = have_edges and redis.call('EXISTS', edges[i]) or 0
end
for key, parts in pairs(sets) do
  each('ZREM', key, parts)
end
each('ZADD', order('leases'), leases)
redis.call('HSET', prefix .. 'taken', ARGV[3], cmsgpack.pack(names))
local types = starts and '["task.claimed","task.started"]' or '["task.claimed"]'
finish(types, starts and 2 or 1, cjson.encode(agent), '[' .. table.concat(items, ',') .. ']', #items)
return reply
