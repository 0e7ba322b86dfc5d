-- Add one standalone task that is ready at once, in short (`short`).
--
-- KEYS  1 meta
-- ARGV  1-3 see common
--       4 its id  5 its specification  6 its payload
--       7 its lane  8 the boost of that  9 its priority  10 its kind: how it is counted
--       11 what is not as usual, if anything
-- Reply {'ok', when} | {'slow'} (its id is taken) | {'busy'} | {'gates'}: see common
--
-- It does what `add_many` does, and the tables and functions that many tasks need are left out: they took it longer
-- than half of its writes.
local call, format = redis.call, string.format
local prefix = string.sub(KEYS[1], 1, -5)
local id, lane = ARGV[4], ARGV[7]
local key = prefix .. 't:' .. id
if call('EXISTS', key, prefix .. 'turn') > 0 then
  if call('EXISTS', key) == 0 then
    return {'busy'}
  end
  -- Said before, it has happened: the id is this caller's.
  local seen = call('HMGET', key, 'new', 'created_at')
  if ARGV[3] == '' or not (seen[1] or seen[2]) then
    return {'slow'}
  end
  return {'ok', seen[2] or format('%.0f', cmsgpack.unpack(seen[1])[3])}
end
local known = call('HMGET', KEYS[1], 'gates', 'version', 'number', 'seq')
if (known[1] or '') ~= ARGV[2] then
  return {'gates'}
end
local now = tonumber(ARGV[1])
if not now then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end
local at = format('%.0f', now)
local version, seq = format('%.0f', (known[2] or 0) + 1), format('%.0f', (known[4] or 0) + 2)
local number = (known[3] or 0) + 1
local rank = format('%.17g', ARGV[9] + ARGV[8] * ((now - 1735689600000000) / 60000000))
local stands = format('%015d:%s:%s', number, lane, id)

-- The first write: it fails when memory is full, and then nothing is half-written.
call('HSET', KEYS[1], 'version', version, 'number', format('%.0f', number), 'seq', seq)
local new = cmsgpack.pack({number, lane, now, rank, ARGV[10]})
if ARGV[11] then
  call('HSET', key, 'new', new, 'spec', ARGV[5], 'payload', ARGV[6], 'also', ARGV[11])
else
  call('HSET', key, 'new', new, 'spec', ARGV[5], 'payload', ARGV[6])
end
call('ZADD', prefix .. 'all', number, id)
call('ZADD', prefix .. 'o:lane:' .. lane, rank, stands)
call('ZADD', prefix .. 'o:ready:' .. lane, at, stands)
call('XADD', prefix .. 'events', seq .. '-0', 'n', 2, 'groups',
  '[[["task.added","task.ready"],' .. at .. ',null,null,["' .. id .. '"]]]')
call('PUBLISH', prefix .. 'news', version)
return {'ok', at}
