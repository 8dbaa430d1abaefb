-- Kept counts without a hot row: each statement that changes messages adds a few delta rows in its own transaction, whoever
-- sends it; one process folds them once a second. Exact at any time: the folded and the unfolded together.
--  kind 't' = all messages of the queue, 'l' = leased until due_s (rounded down), 'd' = put off until due_s (not leased),
--       'x' = dead letters that came from the queue
CREATE TABLE count_deltas (
  id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queue bigint NOT NULL,
  kind  "char" NOT NULL CHECK (kind IN ('t', 'l', 'd', 'x')),
  due_s bigint NOT NULL,
  n     bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
CREATE TABLE counts (
  queue bigint NOT NULL,
  kind  "char" NOT NULL,
  due_s bigint NOT NULL,
  n     bigint NOT NULL,
  PRIMARY KEY (queue, kind, due_s)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

CREATE FUNCTION messages_counted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO count_deltas (queue, kind, due_s, n)
    SELECT queue, 't', 0, count(*) FROM new_rows GROUP BY 1
    UNION ALL
    SELECT queue, CASE WHEN leased THEN 'l' ELSE 'd' END::"char", floor(extract(epoch FROM vis))::bigint, count(*)
    FROM new_rows WHERE floor(extract(epoch FROM vis)) > extract(epoch FROM now()) GROUP BY 1, 2, 3
    UNION ALL
    SELECT source_queue, 'x', 0, count(*) FROM new_rows WHERE source_queue IS NOT NULL GROUP BY 1;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO count_deltas (queue, kind, due_s, n)
    SELECT queue, 't', 0, -count(*) FROM old_rows GROUP BY 1
    UNION ALL
    SELECT queue, CASE WHEN leased THEN 'l' ELSE 'd' END::"char", floor(extract(epoch FROM vis))::bigint, -count(*)
    FROM old_rows WHERE floor(extract(epoch FROM vis)) > extract(epoch FROM now()) GROUP BY 1, 2, 3
    UNION ALL
    SELECT source_queue, 'x', 0, -count(*) FROM old_rows WHERE source_queue IS NOT NULL GROUP BY 1;
  ELSE
    INSERT INTO count_deltas (queue, kind, due_s, n)
    SELECT queue, kind, due_s, sum(n) FROM (
      SELECT queue, 't'::"char" AS kind, 0::bigint AS due_s, 1 AS n FROM new_rows
      UNION ALL SELECT queue, 't', 0, -1 FROM old_rows
      UNION ALL SELECT queue, CASE WHEN leased THEN 'l' ELSE 'd' END::"char", floor(extract(epoch FROM vis))::bigint, 1
                FROM new_rows WHERE floor(extract(epoch FROM vis)) > extract(epoch FROM now())
      UNION ALL SELECT queue, CASE WHEN leased THEN 'l' ELSE 'd' END::"char", floor(extract(epoch FROM vis))::bigint, -1
                FROM old_rows WHERE floor(extract(epoch FROM vis)) > extract(epoch FROM now())
      UNION ALL SELECT source_queue, 'x', 0, 1 FROM new_rows WHERE source_queue IS NOT NULL
      UNION ALL SELECT source_queue, 'x', 0, -1 FROM old_rows WHERE source_queue IS NOT NULL
    ) x GROUP BY 1, 2, 3 HAVING sum(n) <> 0;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER messages_counted_i AFTER INSERT ON messages REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION messages_counted();
CREATE TRIGGER messages_counted_u AFTER UPDATE ON messages REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION messages_counted();
CREATE TRIGGER messages_counted_d AFTER DELETE ON messages REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION messages_counted();
