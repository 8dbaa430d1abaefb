package postgres

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// Beyond 10,000 the kept counts answer, and they are those of the rows.
func TestStatsOfADeepQueue(t *testing.T) {
	t.Parallel()
	db := open(t)
	make1(t, db, "jobs")
	batch := make([]queue.Publish, 1000)
	for n := range 11 {
		for i := range batch {
			batch[i] = queue.Publish{Queue: "jobs"}
			if n == 0 {
				batch[i].Delay = time.Hour
			}
		}
		publish(t, db, batch...)
		if n == 5 {
			if _, err := db.Sweep(t.Context(), 10); err != nil { // folds what there is
				t.Fatal(err)
			}
		}
	}
	got := receive(t, db, "jobs", 500)
	acts := make([]queue.Settle, 100)
	for i := range acts {
		acts[i] = queue.Settle{Verb: queue.Ack, Project: 1, Queue: "jobs", ID: got[i].ID, Lease: got[i].Lease}
	}
	if _, err := db.Settle(t.Context(), acts...); err != nil {
		t.Fatal(err)
	}
	s, err := db.QueueStats(t.Context(), 1, "jobs")
	if err != nil {
		t.Fatal(err)
	}
	if s.Messages != 10_900 || s.InFlight != 400 || s.Delayed != 1000 || s.Available != 9500 {
		t.Errorf("counts %+v", s)
	}
}

// A hundred groups and a crowd of ungrouped messages: each of them has its turn.
func TestUngroupedTakeTurns(t *testing.T) {
	t.Parallel()
	db := open(t)
	make1(t, db, "jobs")
	var items []queue.Publish
	for range 100 {
		items = append(items, queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs", Group: "a"}, queue.Publish{Queue: "jobs", Group: "b"})
	}
	publish(t, db, items...)
	count := map[string]int{}
	for range 30 {
		for _, m := range receive(t, db, "jobs", 1) {
			count[m.Group]++
		}
	}
	for _, g := range []string{"", "a", "b"} {
		if count[g] < 8 || count[g] > 12 {
			t.Errorf("of 30 received one at a time %d are of group %q: want about 10 each: %v", count[g], g, count)
		}
	}
}

func collect[T any](t *testing.T, on querier, sql string, args ...any) []T {
	t.Helper()
	rows, err := on.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// A million delayed and leased messages of a high priority would be passed over one by one if the plan were another than this.
func TestReceivePlansUseIndexes(t *testing.T) {
	t.Parallel()
	db := open(t)
	q := make1(t, db, "jobs")
	for _, c := range []struct {
		name string
		sql  string
		args []any
	}{
		{"plain", receivePlainSQL, []any{q.ID, 10, 60.0, make([]time.Time, 10), 0}},
		{"group", receiveGroupSQL, []any{q.ID, 10, 60.0, 25, make([]time.Time, 10), 0, time.Time{}}},
		{"lapse", lapseSQL, []any{100, time.Time{}}},
		{"last tries", sweepLastTriesSQL, []any{100, time.Time{}, int64(0)}},
	} {
		for _, l := range collect[string](t, db.pool, "EXPLAIN "+c.sql, append([]any{pgx.QueryExecModeExec}, c.args...)...) {
			if strings.Contains(l, "Seq Scan on messages") || strings.Contains(l, "Seq Scan on bodies") || strings.Contains(l, "Hash Join") {
				t.Errorf("%s: %s", c.name, l)
			}
		}
	}
}

// A list that asks for a few looks at a few, however many there are; one that finds too few of what it asks for looks on.
func TestListLooksAtWhatItShows(t *testing.T) {
	t.Parallel()
	db := open(t)
	hook(t, db)
	for n := range 3 {
		events := make([]webhook.NewEvent, 400)
		for i := range events {
			events[i] = news(int64(n*len(events) + i))
		}
		if _, err := db.Send(t.Context(), events...); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		state           webhook.State
		shown, at, most int
	}{
		"all":  {"", 10, 11, 30},
		"none": {webhook.Stuck, 0, 1200, 1300},
	} {
		err := db.in(t.Context(), func(ctx context.Context, tx *txn) error {
			fetched := func() (n int, err error) { // by this connection, since it last told the statistics
				err = tx.QueryRow(ctx, "SELECT idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'delivery_claims'").Scan(&n)
				return n, err
			}
			before, err := fetched()
			if err != nil {
				return err
			}
			d, next, err := db.Deliveries(ctx, webhook.Filter{Project: 1, State: c.state, Page: queue.Page{Limit: 10}})
			if err != nil {
				return err
			}
			after, err := fetched()
			looked := after - before
			if len(d) != c.shown || (next != 0) != (c.shown > 0) || looked < c.at || looked > c.most {
				t.Errorf("%s: %d shown, next %d, %d looked at; want %d shown and %d to %d looked at", name, len(d), next, looked, c.shown, c.at, c.most)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Once a queue is drained the planner counts next to no rows, while somebody's open transaction keeps the entries of all that was consumed: to read an index from end
// to end, in its order, then seems as cheap as to look for one id. So joins by id say = ANY (ARRAY[id]), which no order helps, and who locks in an order takes it from what
// is joined to. Who adds a statement sees here whether that is needed.
func TestPlansOfADrainedQueue(t *testing.T) {
	t.Parallel()
	db := open(t)
	make1(t, db, "jobs")
	exec(t, db, "UPDATE pg_class SET reltuples = 0, relpages = 100 WHERE relkind IN ('r', 'i') AND relnamespace = current_schema()::regnamespace")
	meant := map[string]string{
		"queue_delete":                       "once for a queue",
		"sweep_dead_senders messages_lapsed": "it has none but those of dead senders",
		"sweep_endpoints":                    "once a minute, if endpoints were deleted",
		"sweep_due wakes_message":            "the oldest of all callers' messages",
		"sweep_due messages_lapsed":          "it has none but those of dead senders",
		"wakes_queues":                       "it asks for the oldest of all",
	}
	sent := map[string]string{"receive_plain, known": receiveKnownSQL, "publish, priced": publishPaidSQL, "publish, plain": publishPlainSQL, "send_deliver, taken": sendDeliverTakenSQL}
	files, err := statements.ReadDir("sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".sql")
		sent[name] = stmt(name)
	}
	scan := regexp.MustCompile(`(Seq|Index|Index Only) Scan (?:Backward )?(?:using (\S+) )?on (groups|messages|bodies|wakes|count_deltas|usage_deltas)\b`)
	comment, param := regexp.MustCompile(`--.*`), regexp.MustCompile(`\$\d+`)
	looked := 0
	for name, sql := range sent {
		t.Run(name, func(t *testing.T) {
			conn, err := db.pool.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Release()
			defer conn.Exec(t.Context(), "DEALLOCATE x")
			sql := comment.ReplaceAllString(sql, "")
			n := 0
			for _, p := range param.FindAllString(sql, -1) {
				k, _ := strconv.Atoi(p[1:])
				n = max(n, k)
			}
			args := ""
			if n > 0 {
				args = "(" + strings.Repeat("NULL, ", n-1) + "NULL)"
			}
			if _, err := conn.Exec(t.Context(), "PREPARE x AS "+sql, pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Fatal(err)
			}
			lines := collect[string](t, conn, "EXPLAIN EXECUTE x"+args)
			for i, l := range lines {
				m := scan.FindStringSubmatch(l)
				if m == nil || meant[name] != "" || meant[name+" "+m[2]] != "" {
					continue
				}
				looked++
				if m[1] == "Seq" || i+1 == len(lines) || !strings.Contains(lines[i+1], "Index Cond") {
					t.Errorf("%s is read from end to end:\n%s", m[3], strings.Join(lines, "\n"))
				}
			}
		})
	}
	if looked < 80 {
		t.Errorf("only %d looks at the tables were seen", looked)
	}
}
