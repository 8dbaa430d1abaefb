package cost

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// tick is a unit of /proc's times: USER_HZ is 100 on Linux.
const tick = 10 * time.Millisecond

// Meter reads /proc: the times and the writes of this process, which is the client, of a server, and of a PostgreSQL.
type Meter struct {
	server     int
	postmaster int // 0: none, or not on this machine
	remote     bool
	was        sample
}

type sample struct {
	at                       time.Time
	client, server, database time.Duration
	machine                  time.Duration // all that is not idle
	written                  int64
	unread                   bool // what was written cannot be told
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
	if !now.unread && !m.was.unread && !m.remote {
		w := float64(now.written-m.was.written) / float64(jobs)
		c.Written = &w
	}
	all := time.Duration(runtime.NumCPU()) * now.at.Sub(m.was.at)
	c.Others = max(0, (now.machine-m.was.machine-client-server-database).Seconds()/all.Seconds())
	return c, nil
}

func (m *Meter) sample() (sample, error) {
	s := sample{at: time.Now()}
	var err error
	if s.client, err = Self(); err != nil {
		return s, err
	}
	p, err := readProcess(m.server)
	if err != nil {
		return s, err
	}
	s.server = p.own
	s.add(m.server)
	if m.postmaster != 0 {
		if s.database, err = tree(m.postmaster, s.add); err != nil {
			return s, err
		}
	}
	s.machine, err = busy()
	return s, err
}

// Self is the processor time that this process has used.
func Self() (time.Duration, error) {
	var r syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), err
}

// Tree is the processor time that a process has used, with all that it started, and those of them that have ended.
func Tree(root int) (time.Duration, error) { return tree(root, func(int) {}) }

func tree(root int, each func(pid int)) (sum time.Duration, err error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	all := map[int]process{}
	for _, f := range stats {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil {
			continue
		}
		if p, err := readProcess(pid); err == nil { // else it has ended
			all[pid] = p
		}
	}
	for pid, p := range all {
		up := pid
		for range len(all) { // a number that was given anew must not make a circle
			if up == root || up == 0 {
				break
			}
			up = all[up].parent
		}
		if up == root {
			sum += p.own + p.children
			each(pid)
		}
	}
	return sum, nil
}

// add counts what a process wrote to disk.
func (s *sample) add(pid int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	_, after, ok := strings.Cut(string(text), "\nwrite_bytes: ")
	number, _, _ := strings.Cut(after, "\n")
	n, e := strconv.ParseInt(number, 10, 64)
	if err != nil || !ok || e != nil {
		s.unread = true
		return
	}
	s.written += n
}

type process struct {
	name          string
	parent        int
	own, children time.Duration // children: those that have ended
}

// readProcess reads proc_pid_stat(5).
func readProcess(pid int) (process, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	return parseProcess(string(text))
}

func parseProcess(s string) (process, error) {
	open, end := strings.IndexByte(s, '('), strings.LastIndexByte(s, ')')
	if open < 0 || end < open {
		return process{}, fmt.Errorf("no name in %q", s)
	}
	p := process{name: s[open+1 : end]}
	fields := strings.Fields(s[end+1:]) // the state is fields[0]
	if len(fields) < 15 {
		return process{}, fmt.Errorf("too short: %q", s)
	}
	number := func(i int) time.Duration {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0
		}
		return time.Duration(n)
	}
	p.parent = int(number(1))
	p.own, p.children = (number(11)+number(12))*tick, (number(13)+number(14))*tick
	return p, nil
}

// busy is what the machine's processors did so far, idle and waiting not counted.
func busy() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var sum time.Duration
	for i, f := range strings.Fields(strings.TrimPrefix(line, "cpu ")) {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %q", line)
		}
		if i != 3 && i != 4 && i < 8 { // idle, iowait; guests are counted in user
			sum += time.Duration(n) * tick
		}
	}
	return sum, nil
}

// peak is the most memory that a process had resident, in MiB; 0 where the kernel does not tell.
func peak(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	kib, _ := strconv.ParseFloat(number, 64)
	return kib / 1024
}

// Trees measures this process and trees of others.
type Trees struct {
	roots   []int
	at      time.Time
	used    time.Duration
	machine time.Duration
}

// Of begins to measure.
func Of(roots ...int) (*Trees, error) {
	t := &Trees{roots: roots}
	var err error
	t.at, t.used, t.machine, err = t.now()
	return t, err
}

// Since gives the processor time that they used since, and the share of the machine that others took.
func (t *Trees) Since() (used time.Duration, others float64, err error) {
	at, all, machine, err := t.now()
	used = all - t.used
	of := time.Duration(runtime.NumCPU()) * at.Sub(t.at)
	return used, max(0, (machine-t.machine-used).Seconds()/of.Seconds()), err
}

func (t *Trees) now() (at time.Time, used, machine time.Duration, err error) {
	at = time.Now()
	if used, err = Self(); err != nil {
		return at, 0, 0, err
	}
	for _, r := range t.roots {
		d, err := Tree(r)
		if err != nil {
			return at, 0, 0, err
		}
		used += d
	}
	machine, err = busy()
	return at, used, machine, err
}
