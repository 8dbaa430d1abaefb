package verify

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/onceward/onceward/client"
	"github.com/onceward/onceward/internal/child"
	"github.com/onceward/onceward/internal/failpoint"
	"github.com/onceward/onceward/internal/history"
)

// WorkerWord is the hidden command that runs a worker, a process to be killed: folder, name, receiver's address, and how it settles.
const WorkerWord = "__verify-worker"

// byAck is the worker that completes a key and acks its message by a call of its own.
const byAck = "ack"

// workerLease is that of a worker's messages and keys.
const workerLease = 3 * time.Second

// workerProcess is a worker under way.
type workerProcess struct{ cmd *exec.Cmd }

func (l *long) startWorker() (*workerProcess, error) {
	l.started++
	return startWorker(l.c.Program, nil, WorkerWord, l.dir, fmt.Sprint("worker-", l.started), l.receiver.url+"/work", "")
}

// startWorker starts a process of this program that is no server.
func startWorker(program string, env []string, args ...string) (*workerProcess, error) {
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), os.Stderr
	child.Apart(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	return &workerProcess{cmd}, nil
}

func (w *workerProcess) kill() { // a frozen one too, which does nothing more
	w.cmd.Process.Kill()
	w.cmd.Wait()
}

// aWorker does the work of the queue's messages as docs/ledger-http.md has it: one key each, the effect a POST under the key's op_id.
type aWorker struct {
	dir, to string
	log     *history.Log
	name    string
	settles bool // completes and settles in one call
}

// RunWorker is the worker's process. It ends with ctx.
func RunWorker(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return errors.New("verify worker: folder, name, address and how it settles are required")
	}
	log, err := history.Open(filepath.Join(args[0], args[1]+".jsonl"), args[1])
	if err != nil {
		return err
	}
	defer log.Close()
	w := &aWorker{dir: args[0], name: args[1], to: args[2], log: log, settles: args[3] != byAck}
	for ctx.Err() == nil {
		if n := w.turn(ctx); n == 0 {
			pause(ctx, 50*time.Millisecond)
		}
	}
	return nil
}

func (w *aWorker) server() (*client.Client, error) { return anyServer(w.dir) }

// anyServer gives a client of any server that is said to be there. What is not answered is left to the leases, but by a worker that has a point to stop at: whose
// reply is lost there asks again.
func anyServer(dir string) (*client.Client, error) {
	b, err := os.ReadFile(filepath.Join(dir, "servers"))
	if err != nil {
		return nil, err
	}
	urls := strings.Fields(string(b))
	if len(urls) == 0 {
		return nil, errors.New("no server")
	}
	c := client.Config{URL: urls[rand.IntN(len(urls))], APIKey: apiKey, MaxTries: 1, Timeout: 5 * time.Second}
	if failpoint.On && os.Getenv(failpoint.AtVariable) != "" {
		c.MaxTries, c.HTTP = 6, &http.Client{Transport: lossy{}}
	}
	return client.New(c)
}

// lossy is a connection whose reply is lost at the worker's point.
type lossy struct{}

func (lossy) RoundTrip(q *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(q)
	if err == nil && failpoint.At(failpoint.ReplyLost, q.URL.Path) {
		res.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return res, err
}

// turn receives messages and does them. It gives how many.
func (w *aWorker) turn(ctx context.Context) int {
	c, err := w.server()
	if err != nil {
		return 0
	}
	called := time.Now().UnixNano()
	got, err := c.Consume(ctx, jobs, client.Receive{Max: 5, Visibility: workerLease, Wait: time.Second})
	if err != nil {
		return 0
	}
	var all sync.WaitGroup
	for _, m := range got {
		var p thing
		if err := m.Decode(&p); err != nil {
			continue
		}
		w.log.Note(history.Event{Do: history.Receive, Message: m.ID, Receipt: m.Receipt, Thing: p.Thing, Until: m.VisibleUntil.UnixMicro(), Called: called})
		all.Go(func() { w.do(ctx, c, m, p.Thing) })
	}
	all.Wait()
	return len(got)
}

// do does one message's work. Whatever goes wrong is left to the leases.
func (w *aWorker) do(ctx context.Context, c *client.Client, m *client.Message, thing string) {
	failpoint.At(failpoint.Work, "received")
	policy := client.Idempotent
	if strings.HasSuffix(thing, "7") {
		policy = client.Once
	}
	e := history.Event{Do: history.Claim, Key: thing, Thing: thing, Message: m.ID, Receipt: m.Receipt, Policy: policy}
	end := w.log.Begin(e)
	v, err := c.Claim(ctx, client.NewClaim{Scope: "work", Key: thing, Policy: policy, Owner: w.name, Lease: workerLease, MaxAttempts: 1000, Queue: jobs, Receipt: m.Receipt})
	if err != nil {
		refused(end, err)
		return
	}
	end(history.Event{Answer: v.Verdict, Fence: v.Fence, Until: v.LeaseUntil.UnixMicro()})
	switch v.Verdict {
	case client.Granted:
		w.granted(ctx, c, e, v)
	case client.KeyDone:
		w.settle(e, history.Ack, func() (*client.Settled, error) { return c.Ack(ctx, jobs, m.Receipt) })
	case client.Busy:
		w.settle(e, history.Release, func() (*client.Settled, error) { return c.Release(ctx, jobs, m.Receipt, v.RetryAfter) })
	default:
		w.settle(e, history.Nack, func() (*client.Settled, error) {
			return c.Nack(ctx, jobs, m.Receipt, client.Nack{DeadLetter: true, Error: v.Verdict})
		})
	}
}

func (w *aWorker) settle(e history.Event, do string, call func() (*client.Settled, error)) {
	e.Do = do
	end := w.log.Begin(e)
	s, err := call()
	switch {
	case err != nil:
		refused(end, err)
	case s.Reason != "":
		end(history.Event{Answer: s.Reason})
	default:
		end(history.Event{Answer: "applied"})
	}
}

func (w *aWorker) granted(ctx context.Context, c *client.Client, e history.Event, v *client.Verdict) {
	h := client.Held{Scope: "work", Key: e.Key, Fence: v.Fence}
	e.Fence = v.Fence
	say := func(do string, settle bool, call func() (*client.Word, error)) bool {
		e.Do, e.Settle = do, settle
		end := w.log.Begin(e)
		a, err := call()
		switch {
		case err != nil:
			refused(end, err)
		case a.Applied && do == history.Fail:
			end(history.Event{Answer: history.Applied + ":" + a.State})
		case a.Applied:
			end(history.Event{Answer: history.Applied})
			return true
		default:
			end(history.Event{Answer: a.Reason})
		}
		return false
	}
	failpoint.At(failpoint.Work, "granted")
	if e.Policy == client.Once && !say(history.Begin, false, func() (*client.Word, error) { return c.Begin(ctx, h, workerLease) }) {
		return
	}
	failpoint.At(failpoint.Work, "begun")
	status, err := w.effect(ctx, v, e.Thing)
	failpoint.At(failpoint.Work, "effect done")
	switch {
	case err != nil:
		say(history.Fail, true, func() (*client.Word, error) {
			return c.Fail(ctx, h, client.Failure{Kind: "ambiguous", Error: err.Error(), RetryIn: time.Second, Settle: true})
		})
	case status != http.StatusOK:
		say(history.Fail, true, func() (*client.Word, error) {
			return c.Fail(ctx, h, client.Failure{Kind: "definite", Error: fmt.Sprint(status), RetryIn: time.Second, Settle: true})
		})
	case say(history.Complete, w.settles, func() (*client.Word, error) { return c.Complete(ctx, h, nil, w.settles) }) && !w.settles:
		failpoint.At(failpoint.Work, "completed")
		w.settle(e, history.Ack, func() (*client.Settled, error) { return c.Ack(ctx, jobs, e.Receipt) })
	}
}

// effect is the POST, which ends before the lease.
func (w *aWorker) effect(ctx context.Context, v *client.Verdict, name string) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, workerLease/2)
	defer cancel()
	body, err := json.Marshal(thing{name})
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, "POST", w.to, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.GetBody = nil // the transport sends it once
	req.Header.Set("Idempotency-Key", v.OpID)
	resp, err := oneConnection.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, nil
}

// oneConnection never sends a request a second time by itself.
var oneConnection = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func refused(end func(history.Event), err error) {
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status != 0 {
		end(history.Event{Answer: string(e.Code)})
	}
}
