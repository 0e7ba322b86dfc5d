-- Extend the leases of tasks that are kept in short, where that is all there is to say.
--
-- KEYS  1 meta
-- ARGV  1-3 see common  4… for each claim: the id of its task, its fence, for how long in seconds ('' : as before)
-- Reply {'ok', now, when the lease ends, its agent, …} | {'slow'} | see common
local hindered = hindrance()
if hindered then
  return hindered
end
local found = {}
for i = 4, #ARGV, 3 do
  local seen = call('HMGET', prefix .. 't:' .. ARGV[i], 'new', 'claim', 'end')
  if not seen[2] or seen[3] then
    return {'slow'}
  end
  local claim = cmsgpack.unpack(seen[2])
  if whole(claim[2]) ~= ARGV[i + 1] or (claim[7] and claim[7] <= now) then
    return {'slow'}
  end
  found[#found + 1] = {new = cmsgpack.unpack(seen[1]), claim = claim}
end
begin(0, 0)
local reply, leases = {'ok', at}, {}
for place, seen in ipairs(found) do
  local i = 3 * place + 1
  local id, claim = ARGV[i], seen.claim
  local ends = now + seconds(tonumber(ARGV[i + 2] ~= '' and ARGV[i + 2] or claim[4]))
  claim[5], claim[9] = ends, now
  call('HSET', prefix .. 't:' .. id, 'claim', cmsgpack.pack(claim))
  leases[#leases + 1] = whole(claim[7] and math.min(ends, claim[7]) or ends)
  leases[#leases + 1] = string.format('%015d:%s:%s', seen.new[1], seen.new[2], id)
  reply[#reply + 1] = whole(ends)
  reply[#reply + 1] = claim[3]
end
each('ZADD', order('leases'), leases)
return reply
