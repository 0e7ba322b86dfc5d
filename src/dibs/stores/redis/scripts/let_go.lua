-- Give back a turn that is not needed any more.
--
-- KEYS  1 turn
-- ARGV  1 whose it is
-- Reply 'ok' | 'gone' (it has ended by itself, or is another's)
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 'gone'
end
redis.call('DEL', KEYS[1])
return 'ok'
