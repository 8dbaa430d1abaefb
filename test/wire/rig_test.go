package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/conform"
)

const apiKey = "wire-test-key-0123456789"

// server is a running program.
type server struct {
	url  string
	cmd  *exec.Cmd
	done chan struct{}
	log  string // the file that it writes its log to

	client *http.Client
}

// logged gives what the program has said so far.
func (s *server) logged() string {
	b, _ := os.ReadFile(s.log)
	return string(b)
}

func command(store string, args ...string) *exec.Cmd {
	cmd := exec.Command(binary, append([]string{"serve", "--store", store, "--listen", "127.0.0.1:0", "--allow-private-networks"}, args...)...)
	cmd.Env = append(os.Environ(), "ONCEWARD_API_KEY="+apiKey, "ONCEWARD_SECRETS_KEY="+strings.Repeat("5a", 32))
	return cmd
}

var address = regexp.MustCompile(`127\.0\.0\.1:[1-9][0-9]*`)

func start(t *testing.T, store string, args ...string) *server {
	t.Helper()
	cmd := command(store, args...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // of this process; the program has its own
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &server{cmd: cmd, done: make(chan struct{}), log: log.Name(), client: http.DefaultClient}
	found := make(chan string, 1)
	go func() {
		defer close(s.done)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if a := address.FindString(lines.Text()); a != "" {
				select {
				case found <- a:
				default:
				}
			}
		}
		cmd.Wait()
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-s.done
		if t.Failed() {
			t.Logf("the program wrote:\n%.20000s", s.logged())
		}
	})
	select {
	case a := <-found:
		s.url = "http://" + a
	case <-s.done:
		t.Fatalf("the program ended at once:\n%s", s.logged())
	case <-time.After(time.Minute):
		t.Fatal("the program says no address within a minute")
	}
	return s
}

// stop ends the server as an operator does, and wants it gone in time and content.
func (s *server) stop(t *testing.T, within time.Duration) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.done:
		if code := s.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("after SIGTERM the exit code is %d", code)
		}
	case <-time.After(within):
		t.Fatalf("the program still runs %v after SIGTERM", within)
	}
}

type object = map[string]any

// answer is what came back.
type answer struct {
	status int
	header http.Header
	raw    string
	body   object
}

// call sends body, text as it is and anything else as JSON; nil sends none. headers are name, value, …; the value "-" takes a
// header away.
func (s *server) call(t testing.TB, method, path string, body any, headers ...string) answer {
	t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		j, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		r = bytes.NewReader(j)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+apiKey)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "-" {
			req.Header.Del(headers[i])
		} else {
			req.Header[http.CanonicalHeaderKey(headers[i])] = strings.Split(headers[i+1], "\n")
		}
	}
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	a := answer{status: res.StatusCode, header: res.Header, raw: string(raw)}
	if err := decode(raw, &a.body); err != nil {
		t.Fatalf("%s %s: %d %s is no JSON object: %v", method, path, a.status, clip(a.raw), err)
	}
	path, _, _ = strings.Cut(path, "?")
	if err := s.contract(t).Answer(method, path, a.status, raw); err != nil {
		t.Error(err)
	}
	return a
}

var theContract struct {
	sync.Once
	*conform.Contract
}

// contract is what the program says of itself in /openapi.json: every answer that a test sees is held against it.
func (s *server) contract(t testing.TB) *conform.Contract {
	t.Helper()
	theContract.Do(func() {
		res, err := s.client.Get(s.url + "/openapi.json")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err == nil {
			theContract.Contract, err = conform.Read(b)
		}
		if err != nil {
			t.Fatalf("/openapi.json: %d: %v", res.StatusCode, err)
		}
	})
	if theContract.Contract == nil {
		t.Fatal("the program has no contract")
	}
	return theContract.Contract
}

// decode reads numbers as float64, where one of them is too large for that as its text.
func decode(raw []byte, o *object) error {
	if err := json.Unmarshal(raw, o); err == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(o)
}

func (s *server) post(t testing.TB, path string, body any, headers ...string) answer {
	t.Helper()
	return s.call(t, "POST", path, body, headers...)
}

// do wants 200 and gives the data.
func (s *server) do(t testing.TB, method, path string, body any, headers ...string) object {
	t.Helper()
	return s.call(t, method, path, body, headers...).ok(t)
}

func (a answer) ok(t testing.TB) object {
	t.Helper()
	if a.status != 200 || a.body["ok"] != true {
		t.Fatalf("want 200, got %d %s", a.status, clip(a.raw))
	}
	return a.body["data"].(object)
}

func (a answer) replayed(t testing.TB) bool {
	t.Helper()
	a.ok(t)
	replay := a.body["metadata"].(object)["idempotent_replay"] == true
	if replay != (a.header.Get("Idempotent-Replayed") == "true") {
		t.Errorf("metadata.idempotent_replay is %v and Idempotent-Replayed is %q", replay, a.header.Get("Idempotent-Replayed"))
	}
	return replay
}

// refused wants an error: its status, its code and, where given, its field.
func (a answer) refused(t testing.TB, status int, code string, field ...string) {
	t.Helper()
	e, _ := a.body["error"].(object)
	if a.status != status || a.body["ok"] != false || e["code"] != code {
		t.Errorf("want %d %s, got %d %s", status, code, a.status, clip(a.raw))
		return
	}
	if len(field) > 0 && e["field"] != field[0] {
		t.Errorf("want the field %q, got %v: %s", field[0], e["field"], clip(a.raw))
	}
}

// says wants an error's message and hint to have these in them.
func (a answer) says(t testing.TB, words ...string) {
	t.Helper()
	e, _ := a.body["error"].(object)
	for _, w := range words {
		if said := text(e["message"]) + " · " + text(e["hint"]); !strings.Contains(said, w) {
			t.Errorf("%q does not say %q", said, w)
		}
	}
}

// fields wants exactly these names.
func fields(t testing.TB, what string, o object, names string) {
	t.Helper()
	var got []string
	for name := range o {
		got = append(got, name)
	}
	want := strings.Fields(names)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s has %v, want %v", what, got, want)
	}
}

// is wants o's fields to be as in want.
func is(t testing.TB, what string, o, want object) {
	t.Helper()
	for name, w := range want {
		g, there := o[name]
		gj, _ := json.Marshal(g)
		wj, _ := json.Marshal(w)
		if !there || !bytes.Equal(gj, wj) {
			t.Errorf("%s: %s is %s, want %s", what, name, gj, wj)
		}
	}
}

func items(t testing.TB, o object) []object {
	t.Helper()
	list, ok := o["items"].([]any)
	if !ok {
		t.Fatalf("items is %v, no list", o["items"])
	}
	out := make([]object, len(list))
	for i, v := range list {
		out[i] = v.(object)
	}
	return out
}

var stampForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`)

// stamp reads a time in the one form that answers have.
func stamp(t testing.TB, o object, name string) time.Time {
	t.Helper()
	s, _ := o[name].(string)
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || !stampForm.MatchString(s) {
		t.Errorf("%s is %v, no time in UTC to the microsecond", name, o[name])
	}
	return at
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, within time.Duration, met func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !met(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

func clip(s string) string { return s[:min(len(s), 600)] }

func text(v any) string { s, _ := v.(string); return s }
