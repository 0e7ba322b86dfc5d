-- Complete claims of tasks on which nothing else hangs.
--
-- KEYS  1 meta
-- ARGV  1-3 see common
--       4… for each claim: the id of its task, its fence, how it is recognised again (JSON), the output (''),
--         the decision (''), the data of its event ('')
-- Reply {'ok', now} | {'slow'} | see common
local LOCKS = 1
local left = {}
local found = {}
for i = 4, #ARGV, 6 do
  local key = task(ARGV[i])
  local seen = redis.call('HMGET', key, 'status', 'fence', 'ties', 'usage', 'timeout_at', 'dag_id', 'lane', 'number',
    'kind', 'agent', 'model', 'started_at', 'attempts', 'deadline')
  if (seen[1] ~= 'running' and seen[1] ~= 'claimed') or seen[2] ~= ARGV[i + 1] or seen[4] then
    return {'slow'}
  end
  if (seen[3] and seen[3] % 2 == LOCKS) or (seen[5] and tonumber(seen[5]) <= now) or found[ARGV[i]] then
    return {'slow'}
  end
  if redis.call('EXISTS', prefix .. 'out:' .. ARGV[i]) == 1 then
    return {'slow'}
  end
  local dag = prefix .. 'd:' .. seen[6]
  if left[dag] == nil then
    left[dag] = false
    if redis.call('EXISTS', dag) == 1 then
      local row = redis.call('HMGET', dag, 'status', 'closed', 'c:0:pending', 'c:0:scheduled', 'c:0:ready',
        'c:0:claimed', 'c:0:running', 'c:0:validating', 'c:0:waiting', 'c:0:retrying')
      if row[1] ~= 'running' or row[2] then
        return {'slow'}
      end
      local live = 0
      for j = 3, #row do
        live = live + tonumber(row[j] or '0')
      end
      left[dag] = live
    end
  end
  if left[dag] then
    left[dag] = left[dag] - 1
    if left[dag] < 1 then
      return {'slow'}
    end
    seen.dag = dag
  end
  seen.key = key
  found[ARGV[i]] = seen
end

begin()
for i = 4, #ARGV, 6 do
  local id, fence, output, decision, data = ARGV[i], ARGV[i + 1], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5]
  local seen = found[id]
  local key = seen.key
  local attempts = whole(tonumber(seen[13] or '0') + 1)
  local ending = '[' .. attempts .. ',' .. cjson.encode(seen[10]) .. ',"completed",' .. (seen[12] or 'null') .. ','
    .. at .. ',' .. ARGV[i + 2] .. ',"completed",null,' .. (seen[11] and cjson.encode(seen[11]) or 'null') .. ']'
  redis.call('HDEL', key, 'lease_expires_at', 'timeout_at', 'confirmed', 'error', 'reason', 'exit_code', 'suspect',
    'poison_pill', 'releases', 'output', 'output_sanitized', 'decision')
  redis.call('HSET', key, 'status', 'completed', 'attempts', attempts, 'completed_at', at, 'updated_at', at,
    'e:' .. fence, ending)
  if output ~= '' then
    redis.call('HSET', key, 'output', output)
  end
  if decision ~= '' then
    redis.call('HSET', key, 'decision', decision)
  end
  local stands = member(seen[8], seen[7], id)
  redis.call('ZREM', order('leases'), stands)
  redis.call('ZADD', order('ended'), at, stands)
  if seen[14] then
    redis.call('ZREM', order('deadlines'), stands)
  end
  count(seen[9], seen[1], -1)
  count(seen[9], 'completed', 1)
  if seen.dag then
    redis.call('HINCRBY', seen.dag, 'c:0:' .. seen[1], -1)
    redis.call('HINCRBY', seen.dag, 'c:0:completed', 1)
  end
  if data == '' then
    tell('task.completed', 'at', at, 'task', id, 'dag', seen[6], 'agent', seen[10])
  else
    tell('task.completed', 'at', at, 'task', id, 'dag', seen[6], 'agent', seen[10], 'data', data)
  end
end
finish()
return {'ok', at}
