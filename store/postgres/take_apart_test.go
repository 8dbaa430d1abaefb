package postgres

import (
	"testing"
	"time"

	"github.com/onceward/onceward/webhook"
)

// Where deliveries are taken one at a time, since the database refuses one of them, and a later one fails for another reason, those that were leased
// before are handed out.
func TestTakeApartHandsOutWhatItHas(t *testing.T) {
	t.Parallel()
	db := open(t)
	hook(t, db)
	if _, err := db.Send(t.Context(), news(1), news(2)); err != nil {
		t.Fatal(err)
	}
	exec(t, db, "CREATE SEQUENCE refused")
	exec(t, db, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF nextval('refused') = 1 THEN
			RAISE EXCEPTION 'a bad row' USING ERRCODE = 'check_violation';
		END IF;
		RAISE EXCEPTION 'the disk is full' USING ERRCODE = 'disk_full';
	END $$`)
	exec(t, db, "DO $$ BEGIN EXECUTE format('CREATE TRIGGER refuse BEFORE UPDATE ON claims FOR EACH ROW WHEN (OLD.id = %s) EXECUTE FUNCTION refuse()', (SELECT max(claim_id) FROM deliveries)); END $$")
	k, err := db.TakeDeliveries(t.Context(), webhook.Take{Owner: "w", Max: 10, Slack: time.Minute})
	if leased := count(t, db, "SELECT count(*) FROM messages WHERE leased"); err != nil || leased != 1 || len(k.Jobs) != leased {
		t.Errorf("leased %d and handed out %d, %v; want one", leased, len(k.Jobs), err)
	}
	if _, err := db.TakeDeliveries(t.Context(), webhook.Take{Owner: "w", Max: 10, Slack: time.Minute}); err == nil {
		t.Error("nothing was leased before it failed, and no error")
	}
}
