-- Make ready a namespace that is new, and notice a server that was started anew or took over from another.
--
-- Such a server may have lost what was answered. Fences begin above everything that was ever handed out, so that no
-- two claims have the same one.
--
-- KEYS  1 meta
-- ARGV  1 the layout of the keys  2 which run of which server this is ('' : it does not say)
-- Reply the layout that the namespace has
local layout = redis.call('HGET', KEYS[1], 'layout')
if not layout then
  redis.call('HSET', KEYS[1], 'layout', ARGV[1], 'run', ARGV[2])
  return tonumber(ARGV[1])
end
if redis.call('HGET', KEYS[1], 'run') ~= ARGV[2] or ARGV[2] == '' then
  local time = redis.call('TIME')
  -- What deletes is taken when memory is full, and so is what follows it: who only reads must not be kept out.
  redis.call('HDEL', KEYS[1], 'run')
  redis.call('HSET', KEYS[1], 'run', ARGV[2], 'floor', time[1] .. string.format('%06d', time[2]))
end
return tonumber(layout)
