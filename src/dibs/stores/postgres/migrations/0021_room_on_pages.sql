-- Pages of waiting tasks are filled to nine tenths. A full page on which somebody claimed a task is tidied up, and logged,
-- by whoever looks at it next, task by task: in vain, since only vacuum can give the room to others.
-- Locks: nothing that is in use; pages that are full stay so.
ALTER TABLE dibs.waiting SET (fillfactor = 90);
