-- Watches every change of a claim. What must never happen is written to audit_violations, in the transaction that did it. The file for the
-- other store is the same text where it can be.
CREATE TABLE audit_violations (what text NOT NULL, id bigint NOT NULL, detail text);

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
    ('claim: a once that was started was taken over', NEW.fence > OLD.fence AND OLD.state = 'started' AND OLD.policy LIKE 'o%'),
    ('claim: a once was granted after a try with an unknown outcome', NEW.fence > OLD.fence AND OLD.policy LIKE 'o%' AND OLD.ambiguous),
    ('claim: a grant was not counted', NEW.fence > OLD.fence AND (NEW.tries <> OLD.tries + 1 OR NEW.attempt < OLD.attempt + 1)),
    ('claim: tried more often than it may be', NEW.fence > OLD.fence AND NEW.tries > NEW.max_tries),
    ('claim: a grant left the wrong state',
      NEW.fence > OLD.fence AND NEW.state <> CASE WHEN OLD.policy LIKE 'o%' THEN 'claimed' ELSE 'started' END),
    ('claim: begun by another fence than the newest', NEW.begun <> OLD.begun AND NEW.begun <> NEW.fence),
    ('claim: held without a grant',
      NEW.fence = OLD.fence AND NEW.state IN ('claimed', 'started') AND OLD.state NOT IN ('claimed', 'started')),
    ('claim: started went back to claimed', NEW.fence = OLD.fence AND OLD.state = 'started' AND NEW.state = 'claimed'),
    ('claim: started without a beginning', NEW.state = 'started' AND NEW.begun <> NEW.fence),
    ('claim: done though the newest grant never began',
      NEW.state = 'done' AND OLD.state NOT IN ('done', 'stuck') AND (NEW.begun <> NEW.fence OR OLD.state IN ('claimed', 'new'))),
    ('claim: a once waits for another try after one with an unknown outcome',
      OLD.policy LIKE 'o%' AND NEW.state = 'retry' AND OLD.state <> 'retry' AND (NEW.ambiguous
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
