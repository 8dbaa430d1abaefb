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

// One delivery that cannot be read keeps back no other that was taken with it, nor one that was handed out by the same commit.
func TestTakeBesideOneUnread(t *testing.T) {
	t.Parallel()
	many := webhook.Take{Owner: "w", Max: 10, Slack: time.Minute}
	hooks := func(t *testing.T, db *DB) (good, bad int64) {
		good, bad = hook(t, db).ID, hook(t, db).ID
		exec(t, db, "UPDATE endpoints SET secrets = '[1]' WHERE id = $1", bad)
		return good, bad
	}
	take := func(t *testing.T, db *DB) []webhook.Job {
		k, err := db.TakeDeliveries(t.Context(), many)
		if err != nil {
			t.Errorf("nothing is handed out: %v", err)
		}
		return k.Jobs
	}
	t.Run("a claim without a delivery", func(t *testing.T) {
		db := open(t)
		hook(t, db, func(e *webhook.Endpoint) { e.MaxInFlight = 10 })
		for n := range int64(6) {
			sendTo(t, db, n)
		}
		exec(t, db, "DELETE FROM deliveries WHERE id = (SELECT min(id) FROM deliveries)")
		if jobs := take(t, db); len(jobs) != 5 {
			t.Errorf("handed out %d, want 5", len(jobs))
		}
	})
	t.Run("an endpoint that cannot be read", func(t *testing.T) {
		db := open(t)
		good, _ := hooks(t, db)
		sendTo(t, db, 1)
		if jobs := take(t, db); len(jobs) != 1 || jobs[0].Endpoint.ID != good {
			t.Errorf("handed out %d, want the other endpoint's", len(jobs))
		}
	})
	t.Run("by the commit that stores it", func(t *testing.T) {
		db := open(t)
		good, _ := hooks(t, db)
		var jobs []webhook.Job
		for n := int64(0); n < 4 && len(jobs) == 0; n++ { // a worker whom the poll sent to look in this moment does not ride
			stop := waitsToTake(t, db, many)
			sendTo(t, db, n)
			if jobs = stop().Jobs; len(jobs) == 0 {
				for _, j := range take(t, db) {
					settleOne(t, db, &j)
				}
			}
		}
		if len(jobs) != 1 || jobs[0].Endpoint.ID != good || jobs[0].Endpoint.URL == "" {
			t.Errorf("handed out %d, want the other endpoint's", len(jobs))
		}
	})
}
