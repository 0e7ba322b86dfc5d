-- Let others write again.
--
-- KEYS  1 turn
-- ARGV  1 whose turn it was
-- Reply 1 | 0 (it was over)
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
