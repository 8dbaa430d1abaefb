package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

// Whatever a caller's session is set to, its publish is that of a server: the same form, the same hash.
func TestSettingsOfASessionChangeNothing(t *testing.T) {
	t.Parallel()
	db, at := withFunctions(t)
	make1(t, db, "jobs")
	body := `{"\ue000":"\\","\ud83d\ude00":1.50,"` + "\uffff" + `":[1e400]}`
	for n, setting := range []string{
		"standard_conforming_strings = off", "DateStyle = 'German, DMY'", "IntervalStyle = sql_standard", "TimeZone = 'Pacific/Kiritimati'", "bytea_output = escape", "extra_float_digits = -15",
		"search_path = pg_temp", "quote_all_identifiers = on", "array_nulls = off", "transform_null_equals = on", "plan_cache_mode = force_custom_plan", "default_transaction_isolation = serializable",
	} {
		p := queue.Publish{Project: 1, Queue: "jobs", Body: []byte(body), Delay: 1500 * time.Millisecond, Headers: map[string]string{"a": "\\1"}, OriginAt: time.Date(2026, 5, 4, 3, 2, 1, 123456000, time.UTC)}
		key := string(rune('a' + n))
		err := pgx.BeginFunc(t.Context(), caller(t, at, 1), func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), "SET LOCAL "+strings.Replace(setting, "default_transaction", "transaction", 1)); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), `SELECT public.onceward_publish('jobs', $1::text::json, $2, 1.5, headers => jsonb_build_object('a', $3::text), origin_at => $4)`, body, key, "\\1", p.OriginAt)
			return err
		})
		if err != nil {
			t.Errorf("%s: refused, as %q", setting, sqlState(err))
			continue
		}
		if err := p.SetKey(key); err != nil {
			t.Fatal(err)
		}
		if out, err := db.Publish(t.Context(), p); err != nil || out[0].Err != nil || !out[0].Replay {
			t.Errorf("%s: a server does not know the publish again: %+v, %v", setting, out, err)
		}
	}
}

// A time that no answer could show is refused, or every consumer of the queue would fail at it.
func TestOriginThatCannotBeShown(t *testing.T) {
	t.Parallel()
	db, at := withFunctions(t)
	make1(t, db, "jobs")
	for _, when := range []string{"infinity", "-infinity", "4713-01-01 BC", "1969-12-31Z", "10000-01-01Z", "294276-12-31"} {
		for _, call := range []string{"onceward_publish('jobs', '1', origin_at => '" + when + "')", "onceward_claim('s', 'k', origin_at => '" + when + "')"} {
			if _, err := db.pool.Exec(t.Context(), "SELECT "+call); sqlState(err) != "OW400" {
				t.Errorf("%s: %v, want OW400", call, err)
			}
		}
	}
	tx := begun(t, caller(t, at, 1))
	for _, year := range []int{-1, 1969, 10000, 200000} {
		out, err := queue.PublishTx(t.Context(), Tx(tx), queue.Publish{Queue: "jobs", Body: []byte(`1`), OriginAt: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)})
		if err != nil || fault.CodeOf(out[0].Err) != fault.InvalidArgument {
			t.Errorf("year %d: %+v, %v", year, out, err)
		}
	}
}

// What is kept of a caller's words is bounded.
func TestLongWordsInSQL(t *testing.T) {
	t.Parallel()
	db, _ := withFunctions(t)
	if _, err := db.pool.Exec(t.Context(), "SELECT onceward_claim('s', 'k', grant_id => repeat('g', 256))"); sqlState(err) != "OW400" {
		t.Errorf("a long grant_id: %v, want OW400", err)
	}
	exec(t, db, "SELECT onceward_claim('s', 'k')")
	exec(t, db, "SELECT onceward_fail('s', 'k', 1, error => repeat('é', 100000))")
	c, notes, err := db.FindClaim(t.Context(), 1, "s", "k")
	if err != nil || c.State != ledger.Retry || len(c.LastError) > 2*4096 || len(notes) != 2 || len(notes[1].Detail) > 2*4096 {
		t.Errorf("%s, %d bytes of error, %d notes, %v", c.State, len(c.LastError), len(notes), err)
	}
}

// A server's start makes its own functions anew, whoever may call them may still, and touches no function of anybody else's, whatever it is called.
func TestFunctionsOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	db, at := withFunctions(t)
	name := "App " + randomName()
	role := `"` + name + `"`
	exec(t, db, "CREATE ROLE "+role)
	t.Cleanup(func() {
		for _, s := range []string{"DROP OWNED BY " + role, "DROP ROLE " + role} {
			if _, err := db.pool.Exec(context.Background(), s); err != nil {
				t.Error(err)
			}
		}
	})
	exec(t, db, "GRANT ALL ON SCHEMA public TO "+role)
	exec(t, db, "GRANT EXECUTE ON FUNCTION onceward_tx_publish, onceward_send, onceward_publish TO "+role)
	exec(t, db, "CREATE FUNCTION onceward_report() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'")
	exec(t, db, "ALTER FUNCTION onceward_report() OWNER TO "+role)
	exec(t, db, "UPDATE meta SET value = '0' WHERE name LIKE 'functions%'")
	again, err := Open(t.Context(), at, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if n := count(t, db, "SELECT count(*) FROM pg_proc WHERE proname = 'onceward_report' AND NOT prosecdef AND proconfig IS NULL AND has_function_privilege('public', oid, 'EXECUTE')"); n != 1 {
		t.Error("a function of somebody else's was changed")
	}
	if n := count(t, db, "SELECT count(*) FROM pg_proc WHERE proname IN ('onceward_tx_publish', 'onceward_send', 'onceward_publish') AND prosecdef AND has_function_privilege('"+name+"', oid, 'EXECUTE')"); n != 3 {
		t.Errorf("the role may call %d of its three functions", n)
	}
	if n := count(t, db, "SELECT count(*) FROM pg_proc WHERE proname IN ('onceward_tx_publish', 'onceward_send', 'onceward_claim') AND has_function_privilege('public', oid, 'EXECUTE')"); n != 0 {
		t.Errorf("everybody may call %d of the functions", n)
	}
}

// In a transaction that may write nothing, and in one whose snapshot is older than a key, the call fails by PostgreSQL's own error, and leaves nothing behind.
func TestReadOnlyAndOldSnapshots(t *testing.T) {
	t.Parallel()
	db, at := withFunctions(t)
	make1(t, db, "jobs")
	pool := caller(t, at, 2)
	for what, want := range map[string]string{
		"SELECT onceward_publish('jobs', '1', 'k')": "25006", "SELECT onceward_send('a.b', '1', idempotency_key => 'k')": "25006", "SELECT onceward_claim('s', 'k')": "25006",
	} {
		err := pgx.BeginTxFunc(t.Context(), pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error { _, err := tx.Exec(t.Context(), what); return err })
		if sqlState(errors.Unwrap(err)) != want && sqlState(err) != want {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
		for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
			tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(t.Context(), "SELECT 1 FROM queues LIMIT 1"); err != nil {
				t.Fatal(err)
			}
			fresh := strings.Replace(what, "'k'", "'"+randomName()+"'", 1)
			exec(t, db, fresh)
			if _, err := tx.Exec(t.Context(), fresh); sqlState(err) != "40001" {
				t.Errorf("%s at %s: %v, want 40001", what, level, err)
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	if n := count(t, db, "SELECT count(*) FROM publish_keys WHERE key = 'k'"); n != 0 {
		t.Errorf("%d keys of transactions that may not write", n)
	}
}

// What a savepoint's rollback undoes is undone in all its parts: the message, its key, its wake, the event's key, the ledger's; the transaction goes on.
func TestSavepointUndoesAll(t *testing.T) {
	t.Parallel()
	db, at := withFunctions(t)
	make1(t, db, "jobs")
	hook(t, db)
	const all = "SELECT (SELECT count(*) FROM messages) + (SELECT count(*) FROM bodies) + (SELECT count(*) FROM publish_keys) + (SELECT count(*) FROM wakes) + (SELECT count(*) FROM events) + (SELECT count(*) FROM deliveries) + (SELECT count(*) FROM claims) + (SELECT count(*) FROM request_keys) + (SELECT count(*) FROM claim_notes)"
	acts := func(tx pgx.Tx) {
		t.Helper()
		for _, call := range []string{"onceward_publish('jobs', '1', 'k', message_group_id => 'g')", "onceward_send('a.b', '1', 'evt_1', idempotency_key => 'k')", "onceward_claim('s', 'k')", "onceward_complete('s', 'k', 1)"} {
			if _, err := tx.Exec(t.Context(), "SELECT "+call); err != nil {
				t.Fatalf("%s: %v", call, err)
			}
		}
	}
	before := count(t, db, all)
	tx := begun(t, caller(t, at, 1))
	sp, err := tx.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	acts(sp)
	if err := sp.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"); n != 0 {
		t.Errorf("%d advisory locks outlive their savepoint", n)
	}
	acts(tx)
	commit(t, tx)
	if n := count(t, db, all); n != before+13 {
		t.Errorf("%d rows, %d before: want those of one publish, one event and one key", n, before)
	}
}
