//go:build failpoints && linux

package failpoint

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// On says that this program has fail points.
const On = true

var (
	wanted, names, _ = strings.Cut(os.Getenv(AtVariable), ": ")
	whats            = strings.Split(names, "|")
	over             atomic.Bool
	clockFile        = os.Getenv(ClockVariable)
)

// At is an instant at which the process may be stopped, named by any of what. It reports whether it was, once it goes on.
func At(place string, what ...string) bool {
	if wanted != place || over.Load() {
		return false
	}
	if !slices.ContainsFunc(what, func(w string) bool { return slices.Contains(whats, w) }) || over.Swap(true) {
		return false
	}
	// The signal goes to this thread, which takes it before it goes on; sent to the process, any thread might, later.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := os.WriteFile(os.Getenv(FileVariable), []byte(place), 0o600); err != nil {
		panic("fail point: " + err.Error())
	}
	syscall.Tgkill(syscall.Getpid(), syscall.Gettid(), syscall.SIGSTOP)
	return true
}

// Clock is how far the clock is moved now. The file may be replaced at any time.
func Clock() time.Duration {
	if clockFile == "" {
		return 0
	}
	b, err := os.ReadFile(clockFile)
	if err != nil {
		panic("fail point: " + err.Error())
	}
	d, err := time.ParseDuration(strings.TrimSpace(string(b)) + "s")
	if err != nil {
		panic("fail point: " + err.Error())
	}
	return d
}

// Callers gives the names of the functions under way, without their packages and receivers.
func Callers() (out []string) {
	pc := make([]uintptr, 64)
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc)])
	for {
		f, more := frames.Next()
		name := f.Function[strings.LastIndexByte(f.Function, '/')+1:]
		for part := range strings.SplitSeq(name, ".") {
			out = append(out, part)
		}
		if !more {
			return out
		}
	}
}
