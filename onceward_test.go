package onceward_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onceward/onceward"
)

func quiet(c onceward.Config) onceward.Config {
	c.Logger = slog.New(slog.DiscardHandler)
	return c
}

func start(t *testing.T, c onceward.Config) *onceward.Server {
	t.Helper()
	s, err := onceward.New(t.Context(), quiet(c))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func get(t *testing.T, s *onceward.Server, key, method, path, body string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	s.Handler().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestFirstKeyIsGivenOnce(t *testing.T) {
	t.Parallel()
	path := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	s, err := onceward.New(t.Context(), quiet(onceward.Config{Store: path}))
	if err != nil {
		t.Fatal(err)
	}
	key := s.FirstKey()
	if code, body := get(t, s, key, "GET", "/v1/queue/list", ""); key == "" || code != 200 {
		t.Errorf("with the first key %q: %d %s", key, code, body)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = start(t, onceward.Config{Store: path})
	if s.FirstKey() != "" {
		t.Error("a second start made a key")
	}
	if code, body := get(t, s, key, "GET", "/v1/queue/list", ""); code != 200 {
		t.Errorf("after a restart: %d %s", code, body)
	}
}

func TestConfiguredKeyReplacesTheFormer(t *testing.T) {
	t.Parallel()
	path := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	const one, two = "the-first-of-two-keys", "the-second-of-two-keys"
	s, err := onceward.New(t.Context(), quiet(onceward.Config{Store: path, APIKey: one}))
	if err != nil {
		t.Fatal(err)
	}
	if s.FirstKey() != "" {
		t.Error("a key was made beside the one given")
	}
	s.Close()
	s = start(t, onceward.Config{Store: path, APIKey: two})
	if code, _ := get(t, s, one, "GET", "/v1/queue/list", ""); code != 401 {
		t.Errorf("the former key: %d", code)
	}
	if code, _ := get(t, s, two, "GET", "/v1/queue/list", ""); code != 200 {
		t.Errorf("the new key: %d", code)
	}
}

func TestOneProcessOnOneFile(t *testing.T) {
	t.Parallel()
	path := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	start(t, onceward.Config{Store: path})
	if s, err := onceward.New(t.Context(), quiet(onceward.Config{Store: path})); err == nil {
		s.Close()
		t.Fatal("a second server on the same file")
	} else if !strings.Contains(err.Error(), "another process has it open") {
		t.Errorf("it does not say why: %v", err)
	}
}

func TestOtherSecretsKeyIsRefused(t *testing.T) {
	t.Parallel()
	path := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	key := make([]byte, 32)
	s, err := onceward.New(t.Context(), quiet(onceward.Config{Store: path, SecretsKey: key, AllowPrivateNetworks: true}))
	if err != nil {
		t.Fatal(err)
	}
	if code, body := get(t, s, s.FirstKey(), "POST", "/v1/webhooks/endpoints", `{"url":"http://127.0.0.1:1/"}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	s.Close()
	key[0] = 1
	if s, err := onceward.New(t.Context(), quiet(onceward.Config{Store: path, SecretsKey: key})); err == nil {
		s.Close()
		t.Fatal("another key was taken")
	}
	if s, err := onceward.New(t.Context(), quiet(onceward.Config{Store: path})); err == nil {
		s.Close()
		t.Fatal("a new key was made for a store that has secrets")
	}
	key[0] = 0
	start(t, onceward.Config{Store: path, SecretsKey: key})
}

// A slip in the name of the key's file makes a key there; taking that back must not touch the store's own.
func TestWrongSecretsKeyFileLeavesTheRightOne(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "a.db")
	s, err := onceward.New(t.Context(), quiet(onceward.Config{Store: "sqlite:" + db, AllowPrivateNetworks: true}))
	if err != nil {
		t.Fatal(err)
	}
	if code, body := get(t, s, s.FirstKey(), "POST", "/v1/webhooks/endpoints", `{"url":"http://127.0.0.1:1/"}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	s.Close()
	slip := filepath.Join(t.TempDir(), "slip.key")
	if s, err := onceward.New(t.Context(), quiet(onceward.Config{Store: "sqlite:" + db, SecretsKeyFile: slip})); err == nil {
		s.Close()
		t.Fatal("a new key was made for a store that has secrets")
	} else if !strings.Contains(err.Error(), slip) {
		t.Errorf("it does not name the file: %v", err)
	}
	if _, err := os.Stat(slip); err == nil {
		t.Error("the new key is still there")
	}
	start(t, onceward.Config{Store: "sqlite:" + db})
}

func TestRunStopsWithItsContext(t *testing.T) {
	t.Parallel()
	s := start(t, onceward.Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "a.db")})
	polling := make(chan struct{}, 1)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/queue/consume" {
			polling <- struct{}{}
		}
		s.Handler().ServeHTTP(w, r)
	}))
	defer web.Close()
	call := func(ctx context.Context, path, body string) (string, error) {
		r, err := http.NewRequestWithContext(ctx, "POST", web.URL+path, strings.NewReader(body))
		if err != nil {
			return "", err
		}
		r.Header.Set("Authorization", "Bearer "+s.FirstKey())
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return string(b), err
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	if b, err := call(t.Context(), "/v1/queue/create", `{"name":"jobs"}`); err != nil || !strings.Contains(b, `"ok":true`) {
		t.Fatal(b, err)
	}
	polled := make(chan string, 1)
	go func() {
		b, err := call(t.Context(), "/v1/queue/consume", `{"queue":"jobs","wait_seconds":20}`)
		if err != nil {
			b = err.Error()
		}
		polled <- b
	}()
	<-polling
	begun := time.Now()
	stop()
	select {
	case err := <-ran:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(15 * time.Second):
		t.Fatal("Run did not end")
	}
	// H-Q14: a poll ends empty, well before its own wait.
	if b := <-polled; !strings.Contains(b, `"items":[]`) || time.Since(begun) > 15*time.Second {
		t.Errorf("after %v: %s", time.Since(begun), b)
	}
}

func TestMetricsAreWhatTheDocsSay(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	s := start(t, onceward.Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "a.db"), Registry: r})
	for _, c := range [][2]string{
		{"/v1/queue/create", `{"name":"jobs"}`},
		{"/v1/queue/publish", `{"queue":"jobs","payload":1}`},
	} {
		if code, body := get(t, s, s.FirstKey(), "POST", c[0], c[1]); code != 200 {
			t.Fatalf("%s: %d %s", c[0], code, body)
		}
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, f := range families {
		got[f.GetName()] = true
		if f.GetName() != "onceward_queue_messages" {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["queue"] == "jobs" && labels["state"] == "available" && m.GetGauge().GetValue() != 1 {
				t.Errorf("available messages of jobs: %v", m.GetGauge().GetValue())
			}
		}
	}
	for _, name := range []string{
		"onceward_queue_messages", "onceward_queue_oldest_seconds", "onceward_store_up", "onceward_store_commit_seconds",
		"onceward_store_commit_items", "onceward_http_request_seconds", "onceward_webhook_attempt_seconds",
	} {
		if !got[name] {
			t.Errorf("%s is not there", name)
		}
	}
}
