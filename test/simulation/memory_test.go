package simulation

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/onceward/onceward/internal/sqlitetest"
)

const (
	memory = 90 * 24 * time.Hour // of the ledger
	day    = 24 * time.Hour
)

// forget sees, in some runs, that a key that is done is so for ninety days, and then forgotten: no sooner, and not for ever.
func (w *world) forget() {
	names := slices.Sorted(maps.Keys(w.works))
	if w.failed() || len(names) == 0 || w.roll(8, "forget") != 0 {
		return
	}
	claim := func(k *work) (v verdict) {
		w.must("POST", "ledger/claim", fields{
			"scope": "sim", "key": k.key, "policy": policyOf(k.once), "lease_seconds": 60, "max_attempts": k.most,
		}, &v)
		return v
	}
	night := func(d time.Duration) {
		w.stop()
		w.wait(d)
		w.up()
		w.wait(2 * time.Minute) // duties of every minute
	}
	night(memory - day) // of what ended last, too
	for _, name := range names {
		if k := w.works[name]; k.done && w.now().Before(k.ended.Add(memory)) {
			if v := claim(k); v.Verdict != "done" || string(v.Result) != k.result {
				w.fail("%s was done %v ago, and is %s with %s", name, w.now().Sub(k.ended), v.Verdict, v.Result)
			}
		}
	}
	night(2 * day)
	for _, name := range names {
		if k := w.works[name]; k.done && w.now().After(k.ended.Add(memory)) {
			if v := claim(k); v.Verdict != "granted" {
				w.fail("%s was done %v ago, and is %s still", name, w.now().Sub(k.ended), v.Verdict)
			}
		}
	}
	w.say("what was done %v ago is forgotten", memory)
	w.tooOld()
}

// tooOld sees that work which began before the ledger's memory is not run.
func (w *world) tooOld() {
	if w.failed() {
		return
	}
	for _, age := range []time.Duration{memory - day, memory + day} {
		name := w.name("t")
		w.must("POST", "queue/publish", fields{"queue": "tasks", "payload": fields{"name": name}, "origin_at": w.now().Add(-age).UTC().Format(time.RFC3339Nano)}, nil)
		var got page[seen]
		w.must("POST", "queue/consume", fields{"queue": "tasks"}, &got)
		if len(got.Items) != 1 || got.Items[0].name() != name {
			w.fail("consume of tasks gives %v; %s is there", got.Items, name)
			return
		}
		var v verdict
		w.must("POST", "ledger/claim", fields{"scope": "tasks", "key": name, "queue": "tasks", "receipt_handle": got.Items[0].Receipt}, &v)
		if want := map[bool]string{true: "too_old", false: "granted"}[age > memory]; v.Verdict != want {
			w.fail("%s began %v ago, and is %s; it must be %s", name, age, v.Verdict, want)
		}
	}
}

// clockBack sets the clock back by moving what the store dates, while no server runs: what was a minute ago is to come, and what was to be in a minute comes later. What
// has ended by its time, a lease or a delay, stays ended, swept or not. The model moves with it.
func (w *world) clockBack() {
	by := time.Duration(1+w.dice.IntN(120)) * time.Second
	if err := moveTimes(w.file, by, w.now()); err != nil {
		w.fail("set the clock back: %v", err)
		return
	}
	w.say("the clock was set back by %v", by)
	move := func(t *time.Time) { *t = t.Add(by) }
	moveEnd := func(t *time.Time) { // of what ends by itself: what has, has
		if t.After(w.now()) {
			move(t)
		}
	}
	for _, q := range w.queues {
		for _, m := range q.messages {
			moveEnd(&m.visible)
			moveEnd(&m.expires)
		}
		for _, k := range q.keys {
			moveEnd(&k.until)
		}
	}
	for _, k := range w.works {
		moveEnd(&k.until)
		moveEnd(&k.next)
		move(&k.ended)
	}
	for _, k := range w.tasks.all {
		moveEnd(&k.until)
	}
	for name, k := range w.theirs.keys {
		moveEnd(&k.until)
		w.theirs.keys[name] = k
	}
	w.back = w.now().Add(by)
	w.mu.Lock()
	defer w.mu.Unlock()
	var moved []gap // what is on record of a time that was disturbed has another date now; the newest gap stays the last, which is still open
	for _, g := range w.gaps {
		if g.to.IsZero() {
			g.to = w.now()
		}
		moved = append(moved, gap{g.from.Add(by), g.to.Add(by)})
	}
	w.gaps = append(moved, w.gaps...)
}

// moveTimes adds to all times in a store's file. They are microseconds since 1970 of this century, and no other number is as large.
func moveTimes(file string, by time.Duration, now time.Time) error {
	db, err := sql.Open(sqlitetest.Driver, sqlitetest.DSN(file))
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.Query("SELECT m.name, c.name FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type = 'table' AND c.hidden = 0 AND m.name NOT LIKE 'sqlite_%'")
	if err != nil {
		return err
	}
	var moves []string
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			return err
		}
		which := fmt.Sprintf(`typeof(%q) = 'integer' AND %[1]q > 900000000000000`, column)
		switch column {
		case "created_at": // an op_id is made of it
			continue
		case "expires_at", "lease_until", "next_at", "vis":
			which += fmt.Sprintf(" AND %q > %d", column, now.UnixMicro())
		}
		moves = append(moves, fmt.Sprintf(`UPDATE %q SET %q = %[2]q + %d WHERE %s`, table, column, by.Microseconds(), which))
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, m := range moves {
		if _, err := db.Exec(m); err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
	}
	return nil
}
