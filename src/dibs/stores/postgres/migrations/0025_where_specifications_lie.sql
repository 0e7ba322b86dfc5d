-- A task that waits says where its specification lies, so that a claim need not look that up: with a million waiting, each
-- look-up came to a page of the index that no cache of the processor had. Whoever moves a specification (an update, a
-- dump, a VACUUM FULL) need not mind: what does not lie there is looked up by its number. NULL: nobody has noted it.
-- Locks: everything in `work`, for a moment.
ALTER TABLE dibs.work ADD COLUMN spec_tid tid;
