package verify

import (
	"context"
	"fmt"
)

// What a store goes through shows more than how it ends, so triggers watch every transition:
//   - A message that carries a key must not be gone before its key is closed: the outcome and the settling are one transaction, or a
//     kill between them loses a delivery. End states show that only when a kill falls into the gap.
//   - Each thing handed over makes one message, whatever becomes of that since.
//   - A message is leased to one at a time, a key granted to one at a time: both numbers grow by one, and only when the lease before is
//     over. A key that is done stays so.
//
// A trigger's clock is read after the server's, so what it calls early is early.
var watches = map[string][]string{
	"sqlite": {
		`CREATE TABLE verify_gone (claim INTEGER, state TEXT)`,
		`CREATE TRIGGER verify_gone BEFORE DELETE ON messages
		   WHEN (SELECT state FROM claims WHERE id = old.claim_id) NOT IN ('done', 'failed', 'stuck')
		 BEGIN INSERT INTO verify_gone SELECT id, state FROM claims WHERE id = old.claim_id; END`,
		`CREATE TABLE verify_made (message INTEGER)`,
		`CREATE TRIGGER verify_made AFTER INSERT ON messages BEGIN INSERT INTO verify_made VALUES (new.id); END`,
		`CREATE TABLE verify_broken (what TEXT)`,
		// in microseconds, exact to one millisecond
		`CREATE TRIGGER verify_lease AFTER UPDATE ON messages
		   WHEN new.lease_no NOT IN (old.lease_no, old.lease_no + 1)
		     OR new.lease_no > old.lease_no AND old.leased AND old.vis > unixepoch('subsec') * 1000000 + 1000
		 BEGIN INSERT INTO verify_broken VALUES (printf('message %d went from lease %d to %d, %d us early', new.id, old.lease_no, new.lease_no,
		   old.vis - unixepoch('subsec') * 1000000)); END`,
		`CREATE TRIGGER verify_claim AFTER UPDATE ON claims
		   WHEN old.state = 'done' AND new.state <> 'done' OR new.fence NOT IN (old.fence, old.fence + 1)
		     OR new.fence > old.fence AND old.lease_until > unixepoch('subsec') * 1000000 + 1000
		 BEGIN INSERT INTO verify_broken VALUES (printf('claim %d went from %s, fence %d, to %s, fence %d, %d us early', new.id, old.state, old.fence,
		   new.state, new.fence, coalesce(old.lease_until - unixepoch('subsec') * 1000000, 0))); END`,
	},
	"postgres": {
		`CREATE TABLE verify_gone (claim bigint, state text)`,
		`CREATE FUNCTION verify_gone() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		   INSERT INTO verify_gone SELECT id, state FROM claims WHERE id = OLD.claim_id AND state NOT IN ('done', 'failed', 'stuck');
		   RETURN OLD; END $$`,
		`CREATE TRIGGER verify_gone BEFORE DELETE ON messages FOR EACH ROW EXECUTE FUNCTION verify_gone()`,
		`CREATE TABLE verify_made (message bigint)`,
		`CREATE FUNCTION verify_made() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO verify_made VALUES (NEW.id); RETURN NEW; END $$`,
		`CREATE TRIGGER verify_made AFTER INSERT ON messages FOR EACH ROW EXECUTE FUNCTION verify_made()`,
		`CREATE TABLE verify_broken (what text)`,
		`CREATE FUNCTION verify_lease() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		   INSERT INTO verify_broken VALUES (format('message %s went from lease %s to %s, %s early', NEW.id, OLD.lease_no, NEW.lease_no,
		     OLD.vis - clock_timestamp()));
		   RETURN NEW; END $$`,
		`CREATE TRIGGER verify_lease AFTER UPDATE ON messages FOR EACH ROW
		   WHEN (NEW.lease_no NOT IN (OLD.lease_no, OLD.lease_no + 1)
		     OR NEW.lease_no > OLD.lease_no AND OLD.leased AND OLD.vis > clock_timestamp())
		 EXECUTE FUNCTION verify_lease()`,
		`CREATE FUNCTION verify_claim() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		   INSERT INTO verify_broken VALUES (format('claim %s went from %s, fence %s, to %s, fence %s, %s early', NEW.id, OLD.state, OLD.fence,
		     NEW.state, NEW.fence, coalesce(OLD.lease_until - clock_timestamp(), interval '0')));
		   RETURN NEW; END $$`,
		`CREATE TRIGGER verify_claim AFTER UPDATE ON claims FOR EACH ROW
		   WHEN (OLD.state = 'done' AND NEW.state <> 'done' OR NEW.fence NOT IN (OLD.fence, OLD.fence + 1)
		     OR NEW.fence > OLD.fence AND OLD.lease_until > clock_timestamp())
		 EXECUTE FUNCTION verify_claim()`,
	},
}

// watch puts the triggers on a store that a server has made.
func watch(ctx context.Context, g ground) error {
	for _, s := range watches[g.name()] {
		if _, err := g.db().ExecContext(ctx, s); err != nil {
			return fmt.Errorf("watch the store: %w", err)
		}
	}
	return nil
}
