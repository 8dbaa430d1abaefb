-- Watches every change of a message, a group and a publish key. What must never happen is written to
-- audit_violations, in the transaction that did it. The file for the other store is the same text where it can be.
CREATE FUNCTION audit_message_new() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO audit_violations
  SELECT what, NEW.id, '' FROM (VALUES
    ('message made with a lease, a count or a death of its own',
      (NEW.lease_no <> 0 OR NEW.receives <> 0 OR NEW.leased OR NEW.receipt_open OR NEW.dead_at IS NOT NULL)
      -- but a delivery's that its event's commit hands out: received once, and held as long as its claim
      AND NOT (NEW.lease_no = 1 AND NEW.receives = 1 AND NEW.leased AND NEW.receipt_open AND NEW.dead_at IS NULL AND EXISTS (SELECT 1 FROM claims c
        WHERE c.id = NEW.claim_id AND c.kind = 'd' AND c.state IN ('claimed', 'started') AND c.fence = 1 AND c.message_id = NEW.id AND c.lease_no = 1 AND c.lease_until = NEW.vis)))
  ) AS v (what, bad) WHERE bad;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_message_new AFTER INSERT ON messages FOR EACH ROW EXECUTE FUNCTION audit_message_new();

CREATE FUNCTION audit_message() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO audit_violations
  SELECT what, NEW.id, 'lease ' || OLD.lease_no || ' -> ' || NEW.lease_no || ', count ' || OLD.receives || ' -> ' || NEW.receives FROM (VALUES
    ('message: what never changes was changed',
      NEW.project <> OLD.project OR NEW.prio <> OLD.prio OR NEW.max_receives <> OLD.max_receives OR NEW.published_at <> OLD.published_at
      OR NEW.origin_at <> OLD.origin_at OR NEW.claim_id IS DISTINCT FROM OLD.claim_id AND OLD.claim_id IS NOT NULL),
    ('message: a lease number went back', NEW.lease_no < OLD.lease_no),
    ('message: a lease number was left out', NEW.lease_no > OLD.lease_no + 1),
    ('message: a live lease was received again',
      NEW.lease_no > OLD.lease_no AND OLD.leased AND OLD.vis > NEW.received_at),
    ('message: received before its time',
      NEW.lease_no > OLD.lease_no AND NOT OLD.leased AND OLD.vis > NEW.received_at),
    ('message: a receive left no lease',
      NEW.lease_no > OLD.lease_no AND NOT (NEW.leased AND NEW.receipt_open AND NEW.received_at IS NOT NULL)),
    ('message: a receive was not counted once',
      NEW.lease_no > OLD.lease_no AND OLD.dead_at IS NULL AND OLD.max_receives <> 32767 AND NEW.receives <> OLD.receives + 1),
    ('message: a receive was counted that counts nothing',
      NEW.lease_no > OLD.lease_no AND (OLD.dead_at IS NOT NULL OR OLD.max_receives = 32767) AND NEW.receives <> OLD.receives),
    ('message: received more often than it may be',
      NEW.lease_no > OLD.lease_no AND OLD.dead_at IS NULL AND OLD.receives >= OLD.max_receives),
    ('message: a receive moved it',
      NEW.lease_no > OLD.lease_no AND (NEW.queue <> OLD.queue OR NEW.dead_at IS DISTINCT FROM OLD.dead_at)),
    ('message: received while another of its fifo group comes first',
      NEW.lease_no > OLD.lease_no AND NEW.place IS NOT NULL AND EXISTS (SELECT 1 FROM messages m WHERE m.gid = NEW.gid AND m.place < NEW.place)),
    ('message: its place in its fifo group changed without a redrive, or went back',
      NEW.place IS DISTINCT FROM OLD.place AND NOT (OLD.dead_at IS NOT NULL AND NEW.dead_at IS NULL AND NEW.place > OLD.place)),
    ('message: a count grew without a receive', NEW.lease_no = OLD.lease_no AND NEW.receives > OLD.receives),
    ('message: a count was given back without the end of a receipt',
      NEW.lease_no = OLD.lease_no AND NEW.receives < OLD.receives AND NOT (OLD.dead_at IS NOT NULL AND NEW.dead_at IS NULL AND NEW.receives = 0)
      AND NOT (NEW.receives = OLD.receives - 1 AND OLD.receipt_open AND NOT NEW.receipt_open)),
    ('message: a receipt came alive without a receive', NEW.lease_no = OLD.lease_no AND NEW.receipt_open AND NOT OLD.receipt_open),
    ('message: leased longer than 12 hours', NEW.leased AND NEW.vis > NEW.received_at + interval '12 hours 1 second'),
    ('message: a dead letter lost its source, time, count or error',
      OLD.dead_at IS NOT NULL AND NEW.dead_at IS NOT NULL AND (NEW.dead_at <> OLD.dead_at OR NEW.source_queue <> OLD.source_queue
      OR NEW.source_gid IS DISTINCT FROM OLD.source_gid OR NEW.receives <> OLD.receives OR NEW.queue <> OLD.queue
      OR NEW.last_error IS DISTINCT FROM OLD.last_error)),
    ('message: dead-lettered to the wrong place, or with its receipt alive',
      OLD.dead_at IS NULL AND NEW.dead_at IS NOT NULL AND (NEW.source_queue <> OLD.queue OR NEW.source_gid IS DISTINCT FROM OLD.gid
      OR NEW.queue IS DISTINCT FROM (SELECT dlq FROM queues WHERE id = OLD.queue) OR NEW.receipt_open OR NEW.leased OR NEW.receives <> OLD.receives)),
    ('message: redriven to the wrong place, or not anew',
      OLD.dead_at IS NOT NULL AND NEW.dead_at IS NULL AND (NEW.queue <> OLD.source_queue OR NEW.gid IS DISTINCT FROM OLD.source_gid
      OR NEW.receipt_open OR NEW.leased OR NEW.receives <> 0)),
    ('message: moved without a death or a redrive',
      (OLD.dead_at IS NULL) = (NEW.dead_at IS NULL) AND (NEW.queue <> OLD.queue OR NEW.gid IS DISTINCT FROM OLD.gid)
      AND NOT (OLD.gid = -1 AND NEW.queue = OLD.queue AND EXISTS (SELECT 1 FROM groups g WHERE g.id = NEW.gid AND g.queue = NEW.queue))) -- published in somebody's own transaction
  ) AS v (what, bad) WHERE bad;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_message AFTER UPDATE ON messages FOR EACH ROW EXECUTE FUNCTION audit_message();

CREATE FUNCTION audit_group() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO audit_violations
  SELECT what, NEW.id, OLD.in_flight || ' -> ' || NEW.in_flight || ' of ' || NEW.slots FROM (VALUES
    ('group: more in flight than its slots', NEW.in_flight > OLD.in_flight AND NEW.in_flight > NEW.slots),
    ('group: taken from while disabled', NEW.in_flight > OLD.in_flight AND OLD.disabled AND NEW.disabled)
  ) AS v (what, bad) WHERE bad;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_group AFTER UPDATE ON groups FOR EACH ROW EXECUTE FUNCTION audit_group();

CREATE FUNCTION audit_publish_key() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO audit_violations
  SELECT what, NEW.message_id, NEW.key FROM (VALUES
    ('publish key: a live one was changed',
      OLD.expires_at > clock_timestamp() AND (NEW.message_id <> OLD.message_id OR NEW.hash <> OLD.hash OR NEW.expires_at > OLD.expires_at))
  ) AS v (what, bad) WHERE bad;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_publish_key AFTER UPDATE ON publish_keys FOR EACH ROW EXECUTE FUNCTION audit_publish_key();

CREATE FUNCTION audit_redrive() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO audit_violations
  SELECT what, NEW.id, OLD.state || ' ' || OLD.moved || '+' || OLD.left_behind || '/' || OLD.total || ' -> ' || NEW.state || ' ' || NEW.moved || '+' || NEW.left_behind || '/' || NEW.total FROM (VALUES
    ('redrive: what never changes was changed',
      NEW.project <> OLD.project OR NEW.queue <> OLD.queue OR NEW.filter <> OLD.filter OR NEW.rate <> OLD.rate OR NEW.created_at <> OLD.created_at),
    ('redrive: its numbers went back', NEW.moved < OLD.moved OR NEW.left_behind < OLD.left_behind OR NEW.total < OLD.total OR NEW.last_id < OLD.last_id),
    ('redrive: more was moved and left than there was', NEW.moved + NEW.left_behind > NEW.total),
    ('redrive: over with something neither moved nor left', NEW.state <> 'running' AND NEW.moved + NEW.left_behind <> NEW.total),
    ('redrive: changed after its end', OLD.state <> 'running' AND (NEW.state <> OLD.state OR NEW.moved <> OLD.moved OR NEW.left_behind <> OLD.left_behind))
  ) AS v (what, bad) WHERE bad;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_redrive AFTER UPDATE ON redrives FOR EACH ROW EXECUTE FUNCTION audit_redrive();
