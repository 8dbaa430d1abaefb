package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/onceward/onceward/internal/failpoint"
)

var commits = []struct{ point, at string }{
	{"before the commit", failpoint.BeforeCommit + ": " + ownTx},
	{"after the commit", failpoint.AfterCommit + ": " + ownTx},
}

// txCells stop a worker and a receiver of policy tx, whose effect and record are one transaction of a database of theirs: whatever follows, there is one effect.
func txCells(h how) (all []kase) {
	for _, p := range commits {
		for _, what := range []string{ownWorker, ownReceiver} {
			if what == ownReceiver && h == takenOver {
				continue // deliveries have one address
			}
			all = append(all, named(cell{at: p.at, how: h, work: true, want: "1 effect"}, func(ctx context.Context, r *run, c *cell) error {
				return playTx(ctx, r, c, what)
			}, "policy tx", what, p.point))
		}
	}
	return all
}

func playTx(ctx context.Context, r *run, c *cell, what string) error {
	s, err := r.start(ctx)
	if err == nil {
		err = errors.Join(watch(ctx, r.ground), r.serversAre(s))
	}
	if err != nil {
		return err
	}
	store, db, err := r.ownStore(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	counts := map[string]int{made: 1, left: 0}
	if what == ownReceiver {
		counts["SELECT count(*) FROM claims WHERE state = 'done'"] = 1
		err = r.receiveOwn(ctx, c, s, store)
	} else {
		var o object
		if err = s.makeQueue(ctx); err == nil {
			_, err = s.call(ctx, "POST", "/v1/queue/publish", object{"queue": jobs, "payload": thing{"order-1"}}, &o)
		}
		if err == nil {
			err = r.followOwn(ctx, c, ownWorker, store)
		}
	}
	if err == nil {
		err = r.counted(ctx, counts)
	}
	if err != nil {
		return err
	}
	return r.judgeOwn(ctx, db, 1)
}

// judgeOwn counts what the programs did in their database.
func (r *run) judgeOwn(ctx context.Context, db *sql.DB, want int) error {
	n, v := 0, r.verdict
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM verify_own").Scan(&n); err != nil {
		return err
	}
	v.effects += n
	v.seen = fmt.Sprintf("%d effect", n)
	switch {
	case n < want:
		v.note(&v.lost, "%d effects; expected %d", n, want)
	case n > want:
		v.note(&v.doubled, "%d effects; expected %d", n, want)
	}
	return nil
}

// ownStore makes a database for the run's programs: a file; in PostgreSQL a schema.
func (r *run) ownStore(ctx context.Context) (store string, db *sql.DB, err error) {
	if !r.ground.shared() {
		path := filepath.Join(r.dir, "own.db")
		store = "sqlite:" + path
		db, err = sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)")
	} else if _, err = r.ground.db().ExecContext(ctx, "CREATE SCHEMA own"); err == nil {
		store, err = inSchema(r.ground.url("own"), "own")
		if err == nil {
			db, err = sql.Open("pgx", store)
		}
	}
	if err == nil {
		_, err = db.ExecContext(ctx, ownTable)
	}
	return store, db, err
}

func inSchema(store, schema string) (string, error) {
	u, err := url.Parse(store)
	if err != nil {
		return "", err
	}
	q := u.Query()
	q.Set("search_path", schema)
	q.Del("pool_max_conns") // database/sql has no such thing
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// followOwn is follow, with a program that has a database of its own: what it has locked is waited for.
func (r *run) followOwn(ctx context.Context, c *cell, what, store string) error {
	first, err := r.arm(ctx, c, OwnWord, what, store)
	if err != nil {
		return err
	}
	if c.how == restarted {
		r.kill(first)
	}
	if _, err := r.work(nil, OwnWord, what, store); err != nil {
		return err
	}
	switch c.how {
	case takenOver:
		err = pause(ctx, r.within(workerLease+slack))
		r.kill(first)
	case woken:
		err = errors.Join(pause(ctx, workerLease+slack), r.wake(ctx, first))
	}
	return err
}

// wake lets a program go on, for long enough that whatever it still does is there to be counted.
func (r *run) wake(ctx context.Context, w *workerProcess) error {
	return errors.Join(thaw(w.cmd.Process), pause(ctx, workerLease/2))
}

// receiveOwn has an event delivered to a receiver that stops at the cell's point, until it is delivered.
func (r *run) receiveOwn(ctx context.Context, c *cell, s *server, store string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	at := l.Addr().String()
	l.Close()
	var e struct {
		Secret string `json:"secret"`
	}
	if _, err := s.call(ctx, "POST", "/v1/webhooks/endpoints", object{
		"url": "http://" + at + "/", "timeout_seconds": r.timeout.Seconds(), "retry_ladder": []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
	}, &e); err != nil {
		return err
	}
	if err := r.send(ctx, s, "evt_own"); err != nil {
		return err
	}
	first, err := r.arm(ctx, c, OwnWord, ownReceiver, store, at, e.Secret)
	if err != nil {
		return err
	}
	if c.how == woken {
		err = errors.Join(pause(ctx, r.lease()+slack), r.wake(ctx, first))
	} else {
		r.kill(first)
		_, err = r.work(nil, OwnWord, ownReceiver, store, at, e.Secret)
	}
	if err != nil {
		return err
	}
	return r.ended(ctx)
}

// callers are programs that publish, send and work by SQL functions, in transactions of their own.
var callers = []struct {
	what, want string
	counts     map[string]int
}{
	{sqlPublish, "1 row, 1 message", map[string]int{made: 1, left: 0}},
	{sqlSend, "1 row, 1 event, 1 request", map[string]int{made: 1, left: 0, "SELECT count(*) FROM events": 1, "SELECT count(*) FROM claims WHERE state = 'done'": 1}},
	{sqlWork, "1 row, its key done", map[string]int{made: 1, left: 0, "SELECT count(*) FROM claims WHERE state = 'done' AND fence = 1": 1}},
}

// callerCells stop such a program. It does the whole of it again under the same keys; with another one there, that waits for what the first has locked.
func callerCells(h how) (all []kase) {
	for _, k := range callers {
		for _, p := range commits {
			all = append(all, named(cell{at: p.at, how: h, only: "postgres", work: true, want: k.want}, func(ctx context.Context, r *run, c *cell) error {
				return playCaller(ctx, r, c, k.what, k.counts)
			}, "SQL caller", k.what, p.point))
		}
	}
	return all
}

func playCaller(ctx context.Context, r *run, c *cell, what string, counts map[string]int) error {
	s, err := r.start(ctx)
	if err == nil {
		err = errors.Join(watch(ctx, r.ground), r.serversAre(s), s.makeQueue(ctx), s.makeEndpoint(ctx, r.receive(nil, 0).server.URL, "idempotent", r.timeout))
	}
	if err != nil {
		return err
	}
	store, err := inSchema(r.ground.url("own"), "public")
	if err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, r.config.Program, "migrate", "--store", store, "--functions").CombinedOutput(); err != nil {
		return fmt.Errorf("make the SQL functions: %w: %s", err, out)
	}
	if _, err := r.ground.db().ExecContext(ctx, ownTable); err != nil {
		return err
	}
	if what == sqlWork {
		var o object
		if _, err := s.call(ctx, "POST", "/v1/queue/publish", object{"queue": jobs, "payload": thing{"order-1"}}, &o); err != nil {
			return err
		}
	}
	if c.how == outlived {
		var first *workerProcess
		if first, err = r.arm(ctx, c, OwnWord, what, store); err == nil {
			s, err = r.killed(ctx, s)
		}
		if err == nil {
			err = errors.Join(r.serversAre(s), r.wake(ctx, first))
		}
	} else {
		err = r.followOwn(ctx, c, what, store)
	}
	if err != nil {
		return err
	}
	if what != sqlWork {
		err = r.answered(ctx, c)
	}
	if err == nil && what == sqlPublish {
		err = drained(ctx, r, s)
	}
	if err != nil {
		return err
	}
	if err := r.counted(ctx, counts); err != nil {
		return err
	}
	v := r.verdict
	if what == sqlSend {
		r.judgeEffects(1, 1)
	}
	if err := r.judgeOwn(ctx, r.ground.db(), 1); err != nil {
		return err
	}
	if len(v.reasons) == 0 {
		v.seen = c.want
	}
	return nil
}

// answered waits until every caller that still lives has its answer: they are the same.
func (r *run) answered(ctx context.Context, c *cell) error {
	want := 1
	if c.how == woken {
		want = 2
	}
	var got map[string]int
	all, err := until(ctx, 15*time.Second, func() (bool, error) {
		names, err := filepath.Glob(filepath.Join(r.dir, "*.answer"))
		got = map[string]int{}
		n := 0
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				return false, err
			}
			if len(b) > 0 {
				n++
				got[string(b)]++
			}
		}
		return n >= want, err
	})
	v := r.verdict
	switch {
	case err != nil:
	case !all:
		v.note(&v.unfinished, "%v were answered; expected %d answers", got, want)
	case len(got) != 1:
		v.note(&v.doubled, "callers under one key were answered %v", got)
	}
	return err
}
