package cost

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tick is a unit of /proc's times: USER_HZ is 100 on Linux.
const tick = 10 * time.Millisecond

type process struct {
	name     string
	parent   int
	kernel   bool          // a thread of the kernel's own
	own      time.Duration // by the process's clock, not in ticks
	children time.Duration // of those that have ended
}

// look is what every process did so far.
type look struct {
	at     time.Time
	all    map[int]process
	stolen time.Duration // what the machine below gave to others while we wanted to run
}

func lookAround() (l look, err error) {
	l.all = map[int]process{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return l, err
	}
	for _, f := range stats {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil {
			continue
		}
		if p, err := readProcess(pid); err == nil { // else it has ended
			l.all[pid] = p
		}
	}
	l.at = time.Now()
	l.stolen, err = stolen()
	return l, err
}

// tree gives a process with all that it started.
func (l look) tree(root int) (pids []int) {
	for pid := range l.all {
		up := pid
		for range len(l.all) { // a number that was given anew must not make a circle
			if up == root || up == 0 {
				break
			}
			up = l.all[up].parent
		}
		if up == root {
			pids = append(pids, pid)
		}
	}
	return pids
}

// used is what processes used, with those that they started and that have ended.
func (l look) used(pids []int) (sum time.Duration) {
	for _, pid := range pids {
		p := l.all[pid]
		sum += p.own + p.children
	}
	return sum
}

// others is what all processes but these used. The kernel's own threads write what these gave it to write.
func (l look) others(but []int) (sum time.Duration) {
	mine := map[int]bool{os.Getpid(): true}
	for _, pid := range but {
		mine[pid] = true
	}
	for pid, p := range l.all {
		if !mine[pid] && !p.kernel {
			sum += p.own + p.children
		}
	}
	return sum
}

// readProcess reads proc_pid_stat(5), and the process's clock: the times there are in ticks of 10 ms, which sixty connections' processes of a short
// case do not fill.
func readProcess(pid int) (process, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	p, err := parseProcess(string(text))
	if err != nil {
		return p, err
	}
	if d, err := clock(pid); err == nil {
		p.own = d
	}
	return p, nil
}

// clock is the processor time of a process, of all its threads: clock_getcpuclockid(3).
func clock(pid int) (time.Duration, error) {
	const scheduled = 2 // CPUCLOCK_SCHED
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|scheduled), &t)
	return time.Duration(t.Nano()), err
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
	const kernelThread = 0x00200000 // PF_KTHREAD
	p.parent, p.kernel = int(number(1)), number(6)&kernelThread != 0
	p.own, p.children = (number(11)+number(12))*tick, (number(13)+number(14))*tick
	return p, nil
}

// stolen reads it from /proc/stat.
func stolen() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("/proc/stat: %q", line)
	}
	n, err := strconv.ParseInt(fields[8], 10, 64)
	return time.Duration(n) * tick, err
}

// written is what processes, with those that they waited for, caused to be written to disk; ok is whether the system tells of all.
func written(pids []int) (sum int64, ok bool) {
	for _, pid := range pids {
		n, found := number(fmt.Sprintf("/proc/%d/io", pid), "\nwrite_bytes: ")
		if !found {
			return 0, false
		}
		sum += n
	}
	return sum, true
}

// diskWritten is what the disk that has the temporary files was given to write so far. A process's own account counts a page of up to some hundred KiB for each
// byte that changes in it where the kernel keeps files in large pages.
func diskWritten() (int64, bool) {
	var s unix.Stat_t
	if err := unix.Stat(os.TempDir(), &s); err != nil {
		return 0, false
	}
	text, err := os.ReadFile(fmt.Sprintf("/sys/dev/block/%d:%d/stat", unix.Major(s.Dev), unix.Minor(s.Dev)))
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 7 {
		return 0, false
	}
	sectors, err := strconv.ParseInt(fields[6], 10, 64)
	return sectors * 512, err == nil
}

// resident is the memory of processes in MiB, what they share counted once.
func resident(pids []int) (mib float64, ok bool) {
	for _, pid := range pids {
		kib, found := number(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "\nPss:")
		if !found {
			return 0, false
		}
		mib += float64(kib) / 1024
	}
	return mib, true
}

// peak is the most memory that a process had resident, in MiB; 0 where the kernel does not tell.
func peak(pid int) float64 {
	kib, _ := number(fmt.Sprintf("/proc/%d/status", pid), "\nVmHWM:")
	return float64(kib) / 1024
}

// number reads the number behind a label.
func number(path, label string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	_, after, ok := strings.Cut(string(text), label)
	fields := strings.Fields(after)
	if !ok || len(fields) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(fields[0], 10, 64)
	return n, err == nil
}
