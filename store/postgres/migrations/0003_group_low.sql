-- No waiting message of the group is due before least(low, next_at): a visit begins there, and so passes over nothing that former visits consumed
-- and that the database could not clean up yet. Visits alone write it, under the group's lock; whoever adds work sets next_at to no later than its due time.
ALTER TABLE groups ADD low timestamptz NOT NULL DEFAULT '-infinity';
