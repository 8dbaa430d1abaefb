package verify

import (
	"context"
	"fmt"
)

// A message that carries a key must not be gone before its key is closed: the outcome and the settling are one transaction, or a
// kill between them loses a delivery. End states show that only when a kill falls into the gap, so a trigger watches
// every transition.
var watches = map[string][]string{
	"sqlite": {
		`CREATE TABLE verify_gone (claim INTEGER, state TEXT)`,
		`CREATE TRIGGER verify_gone BEFORE DELETE ON messages
		   WHEN (SELECT state FROM claims WHERE id = old.claim_id) NOT IN ('done', 'failed', 'stuck')
		 BEGIN INSERT INTO verify_gone SELECT id, state FROM claims WHERE id = old.claim_id; END`,
	},
	"postgres": {
		`CREATE TABLE verify_gone (claim bigint, state text)`,
		`CREATE FUNCTION verify_gone() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		   INSERT INTO verify_gone SELECT id, state FROM claims WHERE id = OLD.claim_id AND state NOT IN ('done', 'failed', 'stuck');
		   RETURN OLD; END $$`,
		`CREATE TRIGGER verify_gone BEFORE DELETE ON messages FOR EACH ROW EXECUTE FUNCTION verify_gone()`,
	},
}

// watch puts the trigger on a store that a server has made.
func watch(ctx context.Context, g ground) error {
	for _, s := range watches[g.name()] {
		if _, err := g.db().ExecContext(ctx, s); err != nil {
			return fmt.Errorf("watch the store: %w", err)
		}
	}
	return nil
}
