-- Does a stream hold anything that its group has not been given, or has not acknowledged?
-- `stream` and `named_group` are set above this text. Redis 6.2 does not tell how far behind a group is.
-- Reply: how many are with consumers, and one more if something was never given out.
if redis.call('EXISTS', stream) == 0 then
  return 0
end
local function named(flat)
  local found = {}
  for place = 1, #flat, 2 do
    found[flat[place]] = flat[place + 1]
  end
  return found
end
local newest = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)
for _, flat in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
  local group = named(flat)
  if group['name'] == named_group then
    local behind = #newest > 0 and newest[1][1] ~= group['last-delivered-id']
    return group['pending'] + (behind and 1 or 0)
  end
end
return #newest
