-- Watches every change of a message, a claim, a group and a publish key. What must never happen is written to
-- audit_violations, in the transaction that did it. The file for the other store is the same text where it can be.
CREATE TABLE audit_violations (what text NOT NULL, id bigint NOT NULL, detail text);

CREATE FUNCTION audit_message_new() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO audit_violations
  SELECT what, NEW.id, '' FROM (VALUES
    ('message made with a lease, a count or a death of its own',
      NEW.lease_no <> 0 OR NEW.receives <> 0 OR NEW.leased OR NEW.receipt_open OR NEW.dead_at IS NOT NULL)
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
      (OLD.dead_at IS NULL) = (NEW.dead_at IS NULL) AND (NEW.queue <> OLD.queue OR NEW.gid IS DISTINCT FROM OLD.gid))
  ) AS v (what, bad) WHERE bad;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_message AFTER UPDATE ON messages FOR EACH ROW EXECUTE FUNCTION audit_message();

CREATE FUNCTION audit_claim_new() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO audit_violations
  SELECT what, NEW.id, NEW.state FROM (VALUES
    ('claim made with a past', NEW.fence > 1 OR NEW.tries > 1 OR NEW.state IN ('done', 'stuck', 'retry'))
  ) AS v (what, bad) WHERE bad;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_claim_new AFTER INSERT ON claims FOR EACH ROW EXECUTE FUNCTION audit_claim_new();

CREATE FUNCTION audit_claim() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO audit_violations
  SELECT what, NEW.id, OLD.state || ' ' || OLD.fence || ' -> ' || NEW.state || ' ' || NEW.fence FROM (VALUES
    ('claim: what never changes was changed',
      NEW.project <> OLD.project OR NEW.hash <> OLD.hash OR NEW.policy <> OLD.policy OR NEW.max_tries <> OLD.max_tries
      OR NEW.scope IS DISTINCT FROM OLD.scope OR NEW.key IS DISTINCT FROM OLD.key OR NEW.origin_at <> OLD.origin_at
      OR NEW.window_s IS DISTINCT FROM OLD.window_s OR NEW.created_at <> OLD.created_at),
    ('claim: done was changed',
      OLD.state = 'done' AND (NEW.state <> 'done' OR NEW.fence <> OLD.fence OR NEW.result IS DISTINCT FROM OLD.result)),
    ('claim: failed left by something else than a reopening',
      OLD.state = 'failed' AND NEW.state <> 'failed' AND NOT (NEW.state = 'retry' AND NEW.tries = 0 AND NEW.fence = OLD.fence)),
    ('claim: stuck left by something else than a person or a late success',
      OLD.state = 'stuck' AND NEW.state <> 'stuck' AND NOT (NEW.state = 'retry' AND NEW.tries = 0 AND NEW.fence = OLD.fence)
      AND NOT (NEW.state IN ('done', 'failed') AND NEW.fence = OLD.fence)),
    ('claim: a fence went back', NEW.fence < OLD.fence),
    ('claim: a fence was left out', NEW.fence > OLD.fence + 1),
    ('claim: a terminal claim was granted', NEW.fence > OLD.fence AND OLD.state IN ('done', 'failed', 'stuck')),
    ('claim: a live lease was stolen',
      NEW.fence > OLD.fence AND OLD.state IN ('claimed', 'started') AND OLD.lease_until > clock_timestamp()),
    ('claim: granted before its time', NEW.fence > OLD.fence AND OLD.state = 'retry' AND OLD.next_at > clock_timestamp()),
    ('claim: a once that was started was taken over', NEW.fence > OLD.fence AND OLD.state = 'started' AND OLD.policy = 'o'),
    ('claim: a once was granted after a try with an unknown outcome', NEW.fence > OLD.fence AND OLD.policy = 'o' AND OLD.ambiguous),
    ('claim: a grant was not counted', NEW.fence > OLD.fence AND (NEW.tries <> OLD.tries + 1 OR NEW.attempt < OLD.attempt + 1)),
    ('claim: tried more often than it may be', NEW.fence > OLD.fence AND NEW.tries > NEW.max_tries),
    ('claim: a grant left the wrong state',
      NEW.fence > OLD.fence AND NEW.state <> CASE OLD.policy WHEN 'o' THEN 'claimed' ELSE 'started' END),
    ('claim: begun by another fence than the newest', NEW.begun <> OLD.begun AND NEW.begun <> NEW.fence),
    ('claim: held without a grant',
      NEW.fence = OLD.fence AND NEW.state IN ('claimed', 'started') AND OLD.state NOT IN ('claimed', 'started')),
    ('claim: started went back to claimed', NEW.fence = OLD.fence AND OLD.state = 'started' AND NEW.state = 'claimed'),
    ('claim: started without a beginning', NEW.state = 'started' AND NEW.begun <> NEW.fence),
    ('claim: done though the newest grant never began',
      NEW.state = 'done' AND OLD.state NOT IN ('done', 'stuck') AND (NEW.begun <> NEW.fence OR OLD.state IN ('claimed', 'new'))),
    ('claim: a once waits for another try after one with an unknown outcome',
      OLD.policy = 'o' AND NEW.state = 'retry' AND OLD.state <> 'retry' AND (NEW.ambiguous
      OR OLD.state = 'started' AND NEW.last_error LIKE 'the worker''s lease ran out%')),
    ('claim: failed though a try may have taken effect', NEW.state = 'failed' AND OLD.state NOT IN ('failed', 'stuck') AND NEW.ambiguous),
    ('claim: an unknown outcome was forgotten', OLD.ambiguous AND NOT NEW.ambiguous AND OLD.state NOT IN ('stuck', 'failed')),
    ('claim: attempts were taken back that were made',
      NEW.attempt < OLD.attempt AND NOT (NEW.attempt = OLD.attempt - 1 AND OLD.state IN ('claimed', 'started') AND NEW.state = 'retry')),
    ('claim: a live holder lost the claim without a word',
      NEW.fence = OLD.fence AND OLD.state IN ('claimed', 'started') AND NEW.state = 'retry' AND OLD.lease_until > clock_timestamp()
      AND NEW.last_error LIKE 'the worker''s lease ran out%')
  ) AS v (what, bad) WHERE bad;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_claim AFTER UPDATE ON claims FOR EACH ROW EXECUTE FUNCTION audit_claim();

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
