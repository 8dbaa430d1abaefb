package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// usage is the processor time that this process and a PostgreSQL cluster have used so far. Client, server and
// receiver are all in this process.
func usage(b *testing.B, postmaster int) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	d := time.Duration(r.Utime.Nano() + r.Stime.Nano())
	if postmaster != 0 {
		d += clusterUsage(b, postmaster)
	}
	return d
}

// clusterUsage adds up the postmaster, its children, and those of them that have ended.
func clusterUsage(b *testing.B, postmaster int) time.Duration {
	const tick = 10 * time.Millisecond // USER_HZ is 100 on Linux
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		b.Fatal(err)
	}
	var sum time.Duration
	for _, f := range stats {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // it has ended
		}
		pid, fields, err := parseStat(string(text))
		if err != nil {
			b.Fatal(err)
		}
		if pid == postmaster {
			sum += time.Duration(fields[11]+fields[12]+fields[13]+fields[14]) * tick // its own and its ended children's
		} else if fields[1] == int64(postmaster) {
			sum += time.Duration(fields[11]+fields[12]) * tick
		}
	}
	return sum
}

// parseStat reads proc_pid_stat(5): the numbers that follow the name, state (as 0) first.
func parseStat(s string) (pid int, fields []int64, err error) {
	open, end := strings.IndexByte(s, '('), strings.LastIndexByte(s, ')')
	if open < 0 || end < 0 {
		return 0, nil, fmt.Errorf("no name in %q", s)
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(s[:open])); err != nil {
		return 0, nil, err
	}
	for _, f := range strings.Fields(s[end+1:]) {
		n, _ := strconv.ParseInt(f, 10, 64)
		fields = append(fields, n)
	}
	return pid, fields, nil
}
