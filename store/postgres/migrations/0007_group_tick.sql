-- A group's row changes with every message. While somebody keeps an old snapshot open no version of it can be cleaned up, and whoever looks
-- it up by an index that has an entry for each passes over them all. So look-ups begin where the last ones that count began:
--  tick    tenths of a second at which the row was changed last; it only grows. Who knows of an earlier change begins there.
-- And no index of what changes is to be unique: a unique one is searched through at every change. Names have a table of their own.
ALTER TABLE groups ADD tick bigint NOT NULL DEFAULT 0;
CREATE FUNCTION group_tick() RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT floor(extract(epoch FROM now()) * 10)::bigint $$;
ALTER TABLE groups DROP CONSTRAINT groups_pkey, DROP CONSTRAINT groups_queue_name_key;
CREATE INDEX groups_id ON groups (id, tick);
ALTER TABLE groups REPLICA IDENTITY FULL; -- has no key, which a publication of all tables would ask for

CREATE TABLE group_names (
  queue bigint NOT NULL,
  name  text COLLATE "C" NOT NULL,
  id    bigint NOT NULL UNIQUE,
  PRIMARY KEY (queue, name)
);
INSERT INTO group_names (queue, name, id) SELECT queue, name, id FROM groups;

-- A name is taken by who comes first; the other, once that is committed, makes nothing and finds it.
CREATE FUNCTION group_named() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO group_names (queue, name, id) VALUES (NEW.queue, NEW.name, NEW.id) ON CONFLICT (queue, name) DO NOTHING;
  IF FOUND THEN RETURN NEW; END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER group_named BEFORE INSERT ON groups FOR EACH ROW EXECUTE FUNCTION group_named();
CREATE FUNCTION groups_unnamed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM group_names WHERE id IN (SELECT id FROM gone);
  RETURN NULL;
END $$;
CREATE TRIGGER groups_unnamed AFTER DELETE ON groups REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION groups_unnamed();
