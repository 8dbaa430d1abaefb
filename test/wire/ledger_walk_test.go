package wire

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// walk writes the programs of docs/ledger-http.md, and a last line, to a file, and gives the command that runs it.
func (s *server) walk(t *testing.T, last string, env ...string) *exec.Cmd {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatal("the walk through docs/ledger-http.md needs python3, and there is none: on Debian or Ubuntu, apt-get install -y python3")
	}
	b, err := os.ReadFile("../../docs/ledger-http.md")
	if err != nil {
		t.Fatal(err)
	}
	var program strings.Builder
	blocks := regexp.MustCompile("(?ms)^```python\n(.*?)^```$").FindAllStringSubmatch(string(b), -1)
	if len(blocks) != 3 {
		t.Fatalf("docs/ledger-http.md has %d programs", len(blocks))
	}
	for _, m := range blocks {
		program.WriteString(m[1] + "\n\n")
	}
	file := filepath.Join(t.TempDir(), "walk.py")
	if err := os.WriteFile(file, []byte(program.String()+last+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", file)
	cmd.Env = append(os.Environ(), append(env, "ONCEWARD_URL="+s.url, "ONCEWARD_API_KEY="+apiKey)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// post is a mail service that knows the keys of what it sent. It refuses each order once, and it kills who sends the second one, after it
// was sent.
type post struct {
	mu     sync.Mutex
	asked  map[string]int    // by order
	sent   map[string]string // op ids, by order
	twice  []string          // orders sent under two op ids
	worker *exec.Cmd
	killed int
}

func (p *post) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var order struct{ ID string }
	body, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(body, &order); err != nil {
		http.Error(w, err.Error(), 400)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked[order.ID]++; p.asked[order.ID] == 1 {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	op := r.Header.Get("Idempotency-Key")
	if was := p.sent[order.ID]; was != "" && was != op {
		p.twice = append(p.twice, order.ID)
	}
	p.sent[order.ID] = op
	if order.ID == "o-2" && p.killed == 0 {
		p.killed++
		p.worker.Process.Kill()
		panic(http.ErrAbortHandler)
	}
	json.NewEncoder(w).Encode(object{"sent": order.ID})
}

// checkLedgerWalk runs the programs of docs/ledger-http.md: a worker that is refused, killed and handed duplicates, and a request ledger.
func checkLedgerWalk(t *testing.T, s *server) {
	p := &post{asked: map[string]int{}, sent: map[string]string{}}
	mail := httptest.NewServer(p)
	defer mail.Close()
	s.queue(t, "orders", object{"max_receive_count": 2})
	for range 2 {
		for _, id := range []string{"o-1", "o-2", "o-3"} {
			s.publish(t, "orders", object{"id": id, "amount": 5}, nil)
		}
	}
	s.publish(t, "orders", object{"id": "o-1", "amount": 6}, nil) // a corrected amount under the same key
	run := func() *exec.Cmd {
		cmd := s.walk(t, "main()", "MAIL_URL="+mail.URL, "LEASE_SECONDS=2", "RETRY_SECONDS=0.1")
		p.mu.Lock()
		defer p.mu.Unlock()
		p.worker = cmd
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	first := run()
	first.Wait() // it is killed
	second := run()
	defer func() { second.Process.Kill(); second.Wait() }()
	eventually(t, "every order is worked off", time.Minute, func() bool { return s.stats(t, "orders")["message_count"] == 0.0 })
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed != 1 || len(p.sent) != 3 || len(p.twice) > 0 {
		t.Errorf("killed %d; sent %v; under two keys %v", p.killed, p.sent, p.twice)
	}
	for id, op := range p.sent {
		c := s.lookUp(t, "receipt", id)
		is(t, id, c, object{"state": "done", "op_id": op, "result": object{"sent": id}})
	}
	dead := items(t, s.do(t, "GET", "/v1/queue/dlq/list/orders", nil))
	if len(dead) != 1 || !strings.HasPrefix(text(dead[0]["last_error"]), "mismatch: ") {
		t.Errorf("dead letters: %v", dead)
	}

	s.queue(t, "exports", nil)
	export := func(tenant, key, body, more string) (said []any) {
		t.Helper()
		out, err := s.walk(t, more+"print(json.dumps(export("+tenant+", "+key+", "+body+")))", "LEASE_SECONDS=1").Output()
		if err == nil {
			err = json.Unmarshal(out, &said)
		}
		if err != nil && !strings.Contains(more, "_exit") {
			t.Fatalf("%v: %s", err, out)
		}
		return said
	}
	const body, dies = `{"year": 2026}`, "real = call\ndef call(path, **body):\n    if path.endswith('complete'): os._exit(9)\n    return real(path, **body)\n"
	export(`"acme"`, `"k"`, body, dies)
	is(t, "it died between publish and complete", s.stats(t, "exports"), object{"message_count": 1})
	var kept []any
	eventually(t, "it is taken over", 20*time.Second, func() bool {
		kept = export(`"acme"`, `"k"`, body, "")
		return kept[0] == 202.0
	})
	again := export(`"acme"`, `"k"`, `{"year":  2026.0}`, "")
	if again[0] != 202.0 || again[1].(object)["message_id"] != kept[1].(object)["message_id"] || !opID.MatchString(text(again[1].(object)["export_id"])) {
		t.Errorf("asked again: %v, first %v", again, kept)
	}
	if other := export(`"acme"`, `"k"`, `{"year": 2027}`, ""); other[0] != 409.0 {
		t.Errorf("another request: %v", other)
	}
	is(t, "one message", s.stats(t, "exports"), object{"message_count": 1})
	if other := export(`"zorg"`, `"k"`, body, ""); other[0] != 202.0 {
		t.Errorf("another tenant: %v", other)
	}
	is(t, "two tenants, two messages", s.stats(t, "exports"), object{"message_count": 2})
}
