-- Hand out the best tasks of lanes without gates, if all of these are kept in short: then nothing hangs on them.
--
-- KEYS  1 meta
-- ARGV  1-3 see common  4 the agent  5 how many  6 for how long, in seconds  7 '1': start them
--       8 how many bytes all payloads may have  9 the name of this claim
--       10… for each lane: its number, boost, the model for its tasks (''), and how these are counted
-- Reply {'ok', now, {new, spec, payload, also, fence}, …}
--       | {'idle', now, when something will be due in these lanes ('' : nothing will)}
--       | {'done', when, the ids that this very claim took before} | {'slow'} | see common
-- First of all: who asks again after an answer was lost must not be told anything else; nor may a claim that was slow to
-- arrive take anything after it was repeated.
local name = ARGV[9]
local done = call('ZSCORE', prefix .. 'done', name)
if done then
  return {'done', done, call('HGET', prefix .. 'taken', name)}
end
local hindered = hindrance()
if hindered then
  return hindered
end
local AHEAD = 100
local agent, most, starts = ARGV[4], tonumber(ARGV[5]), ARGV[7] == '1'
local room = tonumber(ARGV[8])

-- All lanes that have any, the one with the best first: by effective priority, equal ones in the order of insertion. Of
-- each so many are read at a time as it is likely to give.
local lanes, front = {}, {}
local portion = math.min(most, math.ceil(2 * most / ((#ARGV - 9) / 4)) + 2)

-- Go on to the next of a lane, if there is one.
local function advance(lane)
  lane.place = lane.place + 2
  if lane.place > #lane.found then
    if #lane.found < 2 * portion then
      return false
    end
    lane.found = call('ZRANGE', lane.key, lane.read, lane.read + portion - 1, 'WITHSCORES')
    lane.read = lane.read + portion
    lane.place = 1
    if #lane.found == 0 then
      return false
    end
  end
  lane.stands, lane.worth = lane.found[lane.place], lane.found[lane.place + 1] - lane.shift
  return true
end

local function stand(lane)
  local low, high = 1, #front + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = front[middle]
    if other.worth < lane.worth or other.worth == lane.worth and other.stands < lane.stands then
      low = middle + 1
    else
      high = middle
    end
  end
  table.insert(front, low, lane)
end

for i = 10, #ARGV, 4 do
  local number = ARGV[i]
  local key = order('lane:' .. number)
  local lane = {number = number, key = key, model = ARGV[i + 2], kind = ARGV[i + 3], members = {}}
  lane.shift = tonumber(ARGV[i + 1]) * minutes
  lane.found = call('ZRANGE', key, 0, portion - 1, 'WITHSCORES')
  lane.read, lane.place = portion, -1
  lanes[number] = lane
  if #lane.found > 0 and advance(lane) then
    stand(lane)
  end
end
if #front == 0 then
  -- What comes next is the first in these lanes that is due, or whose lease ends: usually among the first of all.
  local next = ''
  for _, name in ipairs({'due', 'leases'}) do
    local first = call('ZRANGE', order(name), 0, AHEAD - 1, 'WITHSCORES')
    local found = false
    for j = 1, #first, 2 do
      if lanes[string.match(first[j], '^%d+:(%d+):')] then
        next, found = math.min(next == '' and first[j + 1] or next, first[j + 1]), true
        break
      end
    end
    if not found and #first == 2 * AHEAD then
      return {'slow'}
    end
  end
  return {'idle', at, next == '' and '' or whole(next)}
end
-- How long a task may run, from what its kind has besides.
local function timeout_in(also)
  local parts = cmsgpack.unpack(also)
  for i = 1, #parts, 2 do
    if parts[i] == 'timeout_s' then
      return tonumber(parts[i + 1])
    end
  end
end

-- Look at them.
local chosen = {}
local size = 0
while #chosen < most and front[1] do
  local lane = table.remove(front, 1)
  local stands = lane.stands
  local id = string.sub(stands, 18 + #lane.number)
  local key = prefix .. 't:' .. id
  local seen = call('HMGET', key, 'new', 'spec', 'payload', 'also')
  if not seen[1] then
    return {'slow'}
  end
  size = size + #seen[3]
  if #chosen > 0 and size > room then
    break
  end
  seen.id, seen.key, seen.lane, seen.stands = id, key, lane, stands
  chosen[#chosen + 1] = seen
  if advance(lane) then
    stand(lane)
  end
end

local events = (starts and 2 or 1) * #chosen
begin(events, 0)
call('ZADD', prefix .. 'done', at, name)
if now % 10 == 0 then  -- one of ten does it for all
  local old = call('ZRANGEBYSCORE', prefix .. 'done', '-inf', whole(now - MINUTE), 'LIMIT', 0, 100)
  if #old > 0 then
    call('ZREM', prefix .. 'done', unpack(old))
    call('HDEL', prefix .. 'taken', unpack(old))
  end
end
local fence = math.max(1, tonumber(known[5] or 0))
local ends = now + seconds(tonumber(ARGV[6]))
local status = starts and 'running' or 'claimed'
local reply, names, leases = {'ok', at}, {}, {}
for i, seen in ipairs(chosen) do
  local lane, stands = seen.lane, seen.stands
  local timeout = starts and seen[4] and timeout_in(seen[4])
  timeout = timeout and now + seconds(timeout) or false
  call('HSET', seen.key, 'claim', cmsgpack.pack({status, fence, agent, ARGV[6], ends, now, timeout, lane.model}))
  lane.members[#lane.members + 1] = stands
  leases[2 * i - 1] = whole(timeout and math.min(ends, timeout) or ends)
  leases[2 * i] = stands
  names[i] = cjson.encode(seen.id)
  reply[i + 2] = {seen[1], seen[2], seen[3], seen[4], whole(fence)}
end
for _, lane in pairs(lanes) do
  if #lane.members > 0 then
    call('ZREMRANGEBYRANK', lane.key, 0, #lane.members - 1)
    remove(order('ready:' .. lane.number), lane.members)
    count(lane.kind, status, #lane.members)
  end
end
each('ZADD', order('leases'), leases)
local ids = '[' .. table.concat(names, ',') .. ']'
call('HSET', prefix .. 'taken', name, ids)
finish(starts and '["task.claimed","task.started"]' or '["task.claimed"]', events, cjson.encode(agent), ids)
return reply
