package bench

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// sinkVariable has this program be a receiver, and nothing else.
const sinkVariable = "ONCEWARD_BENCH_SINK"

// sink is a receiver in a process of its own, as receivers are: it reads each request and answers 200.
type sink struct {
	url string
	pid int
}

func startSink(b *testing.B) sink {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), sinkVariable+"=1")
	c.Stderr = os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return sink{strings.TrimSpace(line), c.Process.Pid}
}

// until waits until the receiver has had n requests in all.
func (s sink) until(b *testing.B, n int) {
	a, err := http.Get(s.url + "/until?n=" + strconv.Itoa(n))
	if err != nil {
		b.Fatal(err)
	}
	a.Body.Close()
}

// beSink receives until it is killed.
func beSink() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	var got, want atomic.Int64
	reached := make(chan struct{}, 1)
	fmt.Printf("http://%s\n", l.Addr())
	panic(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/until" {
			io.Copy(io.Discard, r.Body)
			if got.Add(1) == want.Load() {
				reached <- struct{}{}
			}
			return
		}
		n, _ := strconv.ParseInt(r.FormValue("n"), 10, 64)
		if want.Store(n); got.Load() < n {
			<-reached
		}
	})))
}
