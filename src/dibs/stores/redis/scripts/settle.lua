-- Complete claims of tasks that are kept in short: nothing hangs on them.
--
-- KEYS  1 meta
-- ARGV  1-3 see common
--       4… for each claim: the id of its task, its fence, how it is recognised again, the output (''),
--         the decision (''), the data of its event ('' or JSON)
-- Reply {'ok', now, the places of claims that were left, …} | {'slow'} (all were) | see common
local hindered = hindrance()
if hindered then
  return hindered
end
local found, met, reply = {}, {}, {'ok', at}
local agent
for i = 4, #ARGV, 6 do
  local id = ARGV[i]
  local key = prefix .. 't:' .. id
  local seen = call('HMGET', key, 'new', 'claim', 'end')
  local claim = seen[2] and not seen[3] and not met[id] and cmsgpack.unpack(seen[2])
  agent = agent or claim and claim[3]
  if claim and whole(claim[2]) == ARGV[i + 1] and claim[3] == agent and not (claim[7] and claim[7] <= now) then
    met[id] = true
    found[#found + 1] = {at = i, key = key, new = cmsgpack.unpack(seen[1]), status = claim[1]}
  else
    reply[#reply + 1] = (i + 2) / 6
  end
end
if #found == 0 then
  return {'slow'}
end

begin(#found, 0)
local items, over, ended = {}, {}, {}
for _, seen in ipairs(found) do
  local i = seen.at
  local id, output, decision, data = ARGV[i], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5]
  local fields = {'end', cmsgpack.pack({now, ARGV[i + 2]})}
  if output ~= '' then
    fields[#fields + 1] = 'output'
    fields[#fields + 1] = output
  end
  if decision ~= '' then
    fields[#fields + 1] = 'decision'
    fields[#fields + 1] = decision
  end
  call('HSET', seen.key, unpack(fields))
  local stands = string.format('%015d:%s:%s', seen.new[1], seen.new[2], id)
  over[#over + 1] = stands
  ended[#ended + 1] = at
  ended[#ended + 1] = stands
  count(seen.new[5], seen.status, -1)
  count(seen.new[5], 'completed', 1)
  local name = cjson.encode(id)
  items[#items + 1] = data == '' and name or '[' .. name .. ',null,' .. data .. ']'
end
remove(order('leases'), over)
each('ZADD', order('ended'), ended)
finish('["task.completed"]', #found, cjson.encode(agent), '[' .. table.concat(items, ',') .. ']')
return reply
