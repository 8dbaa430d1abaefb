-- What a message is charged that is published inside a caller's own transaction: the price of the server that started last.
CREATE OR REPLACE FUNCTION onceward_price() RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT convert_from(value, 'UTF8')::bigint FROM meta WHERE name = 'publish_price'), 0)
$$;

-- The first half of the advisory locks by which open transactions of callers say what they have published to a project with a limit; the second is how many messages.
CREATE OR REPLACE FUNCTION onceward_credit_lock(p_project bigint) RETURNS int LANGUAGE sql STABLE AS $$
  SELECT hashtext('onceward credit ' || current_schema() || ' ' || p_project)
$$;

-- What is left of a project's limit beside all that is committed, all that this transaction has charged, and what the open transactions of other callers hold. Their
-- locks are read first: one that ends in between is counted twice, and not left out.
CREATE OR REPLACE FUNCTION onceward_credit_left(p_project bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  held bigint;
BEGIN
  SELECT coalesce(sum(h.n), 0) INTO held FROM (
    SELECT max(l.objid::bigint) AS n FROM pg_locks l
    WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
      AND l.classid = (onceward_credit_lock(p_project)::bigint & 4294967295)::oid AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    GROUP BY l.virtualtransaction) h;
  RETURN (SELECT p.credit_limit - p.spent - coalesce((SELECT sum(d.cost) FROM usage_deltas d WHERE d.project = p.id), 0) - held * onceward_price()
    FROM projects p WHERE p.id = p_project);
END $$;

-- How many messages this transaction of a caller's has published to a project.
CREATE OR REPLACE FUNCTION onceward_so_far(p_project bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT d.so_far FROM usage_deltas d WHERE d.xact = pg_current_xact_id() AND d.project = p_project ORDER BY d.id DESC LIMIT 1), 0)
$$;

-- Reports whether the project can pay one message more of this transaction. No row is locked: what the transaction has published is held by a shared lock of its number, which
-- goes with the transaction or its savepoint, and which whoever else publishes counts. So that a long transaction has few of them, from 16 messages on they are held an eighth at a time.
CREATE OR REPLACE FUNCTION onceward_affords(p_project bigint, p_price bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  n bigint := onceward_so_far(p_project);
  step bigint := 1 << greatest(0, length(ltrim(n::bit(64)::text, '0')) - 4);
BEGIN
  IF n % step <> 0 OR NOT EXISTS (SELECT FROM projects p WHERE p.id = p_project AND p.credit_limit IS NOT NULL) THEN
    RETURN true;
  END IF;
  BEGIN
    PERFORM pg_advisory_xact_lock_shared(onceward_credit_lock(p_project), (n + step)::int);
    IF onceward_credit_left(p_project) >= step * p_price THEN
      RETURN true;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'OW402';
  EXCEPTION WHEN SQLSTATE 'OW402' THEN
    RETURN false; -- and the lock is given back
  END;
END $$;
