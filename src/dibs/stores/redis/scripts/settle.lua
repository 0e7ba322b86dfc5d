-- Complete claims of tasks on which nothing else hangs.
--
-- KEYS  1 meta
-- ARGV  1-3 see common
--       4… for each claim: the id of its task, its fence, how it is recognised again (JSON), the output (''),
--         the decision (''), the data of its event ('' or JSON)
-- Reply {'ok', now} | {'slow'} | see common
local LOCKS = 1
local found, met, rows, below = {}, {}, {}, {}
local agent
for i = 4, #ARGV, 6 do
  local id = ARGV[i]
  local key = prefix .. 't:' .. id
  local seen = redis.call('HMGET', key, 'status', 'fence', 'ties', 'usage', 'timeout_at', 'dag_id', 'lane', 'number',
    'kind', 'agent', 'model', 'started_at', 'attempts', 'deadline', 'plain')
  if (seen[1] ~= 'running' and seen[1] ~= 'claimed') or seen[2] ~= ARGV[i + 1] or seen[4] or met[id] then
    return {'slow'}
  end
  if (seen[3] and seen[3] % 2 == LOCKS) or (seen[5] and tonumber(seen[5]) <= now) then
    return {'slow'}
  end
  agent = agent or seen[10]
  if seen[10] ~= agent then
    return {'slow'}
  end
  seen.key = key
  met[id] = true
  found[#found + 1] = seen
  rows[#rows + 1] = prefix .. 'd:' .. seen[6]
  below[#below + 1] = prefix .. 'out:' .. id
end
if how_many_exist(below) > 0 then
  return {'slow'}
end
if how_many_exist(rows) > 0 then
  local left = {}
  for i, seen in ipairs(found) do
    local dag = rows[i]
    if left[dag] == nil then
      local row = redis.call('HMGET', dag, 'status', 'closed', 'c:0:pending', 'c:0:scheduled', 'c:0:ready',
        'c:0:claimed', 'c:0:running', 'c:0:validating', 'c:0:waiting', 'c:0:retrying')
      left[dag] = false
      if row[1] then
        if row[1] ~= 'running' or row[2] then
          return {'slow'}
        end
        left[dag] = 0
        for j = 3, #row do
          left[dag] = left[dag] + tonumber(row[j] or '0')
        end
      end
    end
    if left[dag] then
      left[dag] = left[dag] - 1
      if left[dag] < 1 then
        -- It ends with this task.
        return {'slow'}
      end
      seen.dag = dag
    end
  end
end

begin()
local items, over, ended, deadlines = {}, {}, {}, {}
for place, seen in ipairs(found) do
  local i = 6 * place - 2
  local id, output, decision, data = ARGV[i], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5]
  local key = seen.key
  local attempts = whole(tonumber(seen[13] or '0') + 1)
  local ending = '[' .. attempts .. ',' .. cjson.encode(seen[10]) .. ',"completed",' .. (seen[12] or 'null') .. ','
    .. at .. ',' .. ARGV[i + 2] .. ',"completed",null,' .. (seen[11] and cjson.encode(seen[11]) or 'null') .. ']'
  if seen[15] and not seen[13] then
    redis.call('HDEL', key, 'lease_expires_at', 'timeout_at', 'plain')
  else
    redis.call('HDEL', key, 'lease_expires_at', 'timeout_at', 'confirmed', 'error', 'reason', 'exit_code', 'suspect',
      'poison_pill', 'releases', 'output', 'output_sanitized', 'decision')
  end
  local fields = {'status', 'completed', 'attempts', attempts, 'completed_at', at, 'updated_at', at,
    'e:' .. seen[2], ending}
  if output ~= '' then
    fields[#fields + 1] = 'output'
    fields[#fields + 1] = output
  end
  if decision ~= '' then
    fields[#fields + 1] = 'decision'
    fields[#fields + 1] = decision
  end
  redis.call('HSET', key, unpack(fields))
  local stands = string.format('%015d:%s:%s', seen[8], seen[7], id)
  over[#over + 1] = stands
  ended[#ended + 1] = at
  ended[#ended + 1] = stands
  if seen[14] then
    deadlines[#deadlines + 1] = stands
  end
  count(seen[9], seen[1], -1)
  count(seen[9], 'completed', 1)
  if seen.dag then
    redis.call('HINCRBY', seen.dag, 'c:0:' .. seen[1], -1)
    redis.call('HINCRBY', seen.dag, 'c:0:completed', 1)
  end
  local item = '[' .. cjson.encode(id) .. ',' .. cjson.encode(seen[6])
  items[#items + 1] = item .. (data ~= '' and ',' .. data or '') .. ']'
end
each('ZREM', order('leases'), over)
each('ZADD', order('ended'), ended)
each('ZREM', order('deadlines'), deadlines)
finish('["task.completed"]', 1, cjson.encode(agent), '[' .. table.concat(items, ',') .. ']', #items)
return {'ok', at}
