package onceward_test

import (
	"bytes"
	"encoding/json/v2"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onceward/onceward"
)

// data makes a call that must succeed and gives the strings of its data.
func data(t *testing.T, s *onceward.Server, key, method, path, body string) map[string]any {
	t.Helper()
	code, text := get(t, s, key, method, path, body)
	var a struct {
		Data map[string]any `json:"data"`
	}
	if err := json.Unmarshal([]byte(text), &a); code != 200 || err != nil {
		t.Fatalf("%s %s: %d %s", method, path, code, text)
	}
	return a.Data
}

// team makes a project and gives an admin key of it.
func team(t *testing.T, s *onceward.Server, root string) string {
	t.Helper()
	p := data(t, s, root, "POST", "/v1/projects", `{"name":"team"}`)["project_id"].(string)
	return data(t, s, root, "POST", "/v1/keys", `{"scopes":["admin"],"project_id":"`+p+`"}`)["key"].(string)
}

// Another secrets key is found out though the default project has no endpoint.
func TestSecretsKeyOfAnotherProject(t *testing.T) {
	t.Parallel()
	c := quiet(onceward.Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "a.db"), AllowPrivateNetworks: true, SecretsKey: bytes.Repeat([]byte{1}, 32)})
	s, err := onceward.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	data(t, s, team(t, s, s.FirstKey()), "POST", "/v1/webhooks/endpoints", `{"url":"http://127.0.0.1:9/"}`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c.SecretsKey = bytes.Repeat([]byte{2}, 32)
	if s, err := onceward.New(t.Context(), c); err == nil || !strings.Contains(err.Error(), "secrets key") {
		if err == nil {
			s.Close()
		}
		t.Errorf("another secrets key was taken: %v", err)
	}
	c.SecretsKey = bytes.Repeat([]byte{1}, 32)
	start(t, c)
}

// A restart is no way around a revocation: the operator is told, and another key works.
func TestRevokedConfiguredKey(t *testing.T) {
	t.Parallel()
	c := quiet(onceward.Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "a.db"), APIKey: "the-key-that-leaked"})
	run := func(c onceward.Config, do func(s *onceward.Server)) {
		t.Helper()
		s, err := onceward.New(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		do(s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var id string
	run(c, func(s *onceward.Server) {
		list := data(t, s, c.APIKey, "GET", "/v1/keys", "")["items"].([]any)
		id = list[0].(map[string]any)["key_id"].(string)
	})
	run(c, func(s *onceward.Server) { data(t, s, c.APIKey, "DELETE", "/v1/keys/"+id, "") }) // a restart has not changed its id
	var log bytes.Buffer
	leaked := c.APIKey
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	run(c, func(s *onceward.Server) {
		if code, body := get(t, s, leaked, "GET", "/v1/queue/list", ""); code != 401 {
			t.Errorf("the revoked key after a restart: %d %s", code, body)
		}
	})
	if !strings.Contains(log.String(), "was revoked") || strings.Contains(log.String(), leaked) {
		t.Errorf("the operator is told: %s", log.String())
	}
	c.APIKey = "another-key-for-the-operator"
	run(c, func(s *onceward.Server) { data(t, s, c.APIKey, "GET", "/v1/projects", "") })
}

func TestMetricsOfProjects(t *testing.T) {
	t.Parallel()
	r := prometheus.NewPedanticRegistry()
	s := start(t, onceward.Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "a.db"), Registry: r})
	for _, key := range []string{s.FirstKey(), team(t, s, s.FirstKey())} {
		data(t, s, key, "POST", "/v1/queue/create", `{"name":"jobs"}`)
		data(t, s, key, "POST", "/v1/queue/publish", `{"queue":"jobs","payload":1}`)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			if f.GetName() == "onceward_queue_messages" {
				got[strings.Join(labels, " ")] = m.GetGauge().GetValue()
			}
		}
	}
	if got["1 jobs available"] != 1 || got["2 jobs available"] != 1 {
		t.Errorf("one message in each project: %v", got)
	}
}
