package cost

import (
	"context"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Meter measures this process, which is the client, a server, and a PostgreSQL.
type Meter struct {
	server     int
	postmaster int // 0: none, or not on this machine
	remote     bool
	was        sample
}

type sample struct {
	at                               time.Time
	client, server, database, others time.Duration
	written                          int64
	told                             bool // what was written
}

// New makes one. Of a PostgreSQL that is not on this machine nothing is known.
func New(ctx context.Context, store string, server int) (*Meter, error) {
	m := &Meter{server: server}
	if !strings.HasPrefix(store, "postgres") {
		return m, nil
	}
	c, err := pgx.Connect(ctx, store)
	if err != nil {
		return nil, err
	}
	defer c.Close(ctx)
	var backend int
	if err := c.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		return nil, err
	}
	p, err := readProcess(backend)
	if m.remote = err != nil || !strings.HasPrefix(p.name, "postgres"); !m.remote {
		m.postmaster = p.parent
	}
	return m, nil
}

// Begin takes the state before the work.
func (m *Meter) Begin() (err error) {
	m.was, err = m.sample()
	return err
}

// End gives what was used since Begin, for so many jobs; nil for none.
func (m *Meter) End(jobs int64) (*Cost, error) {
	now, err := m.sample()
	if err != nil || jobs == 0 {
		return nil, err
	}
	per := func(d time.Duration) float64 { return d.Seconds() * 10_000 / float64(jobs) }
	client, server, database := now.client-m.was.client, now.server-m.was.server, now.database-m.was.database
	c := &Cost{CPU: per(client + server + database), Client: per(client), Server: per(server), Memory: peak(m.server)}
	if !m.remote {
		d := per(database)
		c.Database = &d
	}
	if now.told && m.was.told && !m.remote {
		w := float64(now.written-m.was.written) / float64(jobs)
		c.Written = &w
	}
	c.Others = share(now.others-m.was.others, now.at.Sub(m.was.at))
	return c, nil
}

// share is a time as a share of all that the processors have.
func share(d, of time.Duration) float64 {
	return max(0, d.Seconds()/of.Seconds()/float64(runtime.NumCPU()))
}

func (m *Meter) sample() (s sample, err error) {
	l, err := lookAround()
	if err != nil {
		return s, err
	}
	mine := l.tree(m.server)
	s = sample{at: l.at, client: l.all[os.Getpid()].own, server: l.used(mine)}
	if m.postmaster != 0 {
		base := l.tree(m.postmaster)
		s.database = l.used(base)
		mine = append(mine, base...)
	}
	s.others = l.others(mine) + l.stolen
	s.written, s.told = written(mine)
	return s, nil
}

// Self is the processor time that this process has used.
func Self() (time.Duration, error) {
	var r syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), err
}

// Tree is the processor time that a process has used, with all that it started, and those of them that have ended.
func Tree(root int) (time.Duration, error) {
	l, err := lookAround()
	return l.used(l.tree(root)), err
}

// Trees measures this process and trees of others, by their names.
type Trees struct {
	roots map[string]int
	was   treesSample
	disk  int64
	told  bool // what the disk was given
}

type treesSample struct {
	look
	parts  map[string]time.Duration
	pids   []int // of all parts
	others time.Duration
}

// Used is what they took.
type Used struct {
	CPU     time.Duration
	Parts   map[string]time.Duration // of it, by the names; "client" is this process
	Written *int64                   // bytes that the disk of temporary files was given, whoever gave them; nil where the system does not tell
	Memory  *float64                 // MiB resident at the end, what they share counted once; nil where the system does not tell
	Others  float64                  // share of the machine that had no part in it: other processes, and what the machine below took away
}

// Of begins to measure.
func Of(roots map[string]int) (*Trees, error) {
	t := &Trees{roots: roots}
	syscall.Sync() // what others left to write is not of this
	t.disk, t.told = diskWritten()
	var err error
	t.was, err = t.sample()
	return t, err
}

// Since gives what they used since.
func (t *Trees) Since() (u Used, err error) {
	now, err := t.sample()
	if err != nil {
		return u, err
	}
	u.Parts = map[string]time.Duration{}
	for name, d := range now.parts {
		u.Parts[name] = d - t.was.parts[name]
		u.CPU += u.Parts[name]
	}
	if mib, ok := resident(now.pids); ok {
		u.Memory = &mib
	}
	syscall.Sync()
	if n, ok := diskWritten(); ok && t.told {
		n -= t.disk
		u.Written = &n
	}
	u.Others = share(now.others-t.was.others, now.at.Sub(t.was.at))
	return u, nil
}

func (t *Trees) sample() (s treesSample, err error) {
	if s.look, err = lookAround(); err != nil {
		return s, err
	}
	self := os.Getpid()
	s.parts, s.pids = map[string]time.Duration{"client": s.all[self].own}, []int{self}
	for name, root := range t.roots {
		pids := s.tree(root)
		s.parts[name] += s.used(pids)
		s.pids = append(s.pids, pids...)
	}
	s.others = s.look.others(s.pids) + s.stolen
	return s, nil
}
