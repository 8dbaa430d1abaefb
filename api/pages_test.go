package api_test

import (
	"encoding/json/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/onceward/onceward/api"
)

// The pages name every call, need no key, and bring nothing from elsewhere.
func TestPages(t *testing.T) {
	t.Parallel()
	e := serve(t, api.Config{Store: newStub()})
	e.key = ""
	for path, kind := range map[string]string{"/docs": "text/html; charset=utf-8", "/llms.txt": "text/plain; charset=utf-8", "/openapi.json": "application/json", "/v1/discovery": "application/json"} {
		a := e.do("GET", path, "")
		if a.status != 200 || a.header.Get("Content-Type") != kind || a.header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d %v", path, a.status, a.header)
		}
		if h := e.do("HEAD", path, ""); h.status != 200 || len(h.raw) != 0 || h.header.Get("Content-Length") != a.header.Get("Content-Length") {
			t.Errorf("HEAD %s: %d %v", path, h.status, h.header)
		}
		if path == "/docs" || path == "/llms.txt" {
			for _, d := range api.Descriptions() {
				if !strings.Contains(string(a.raw), d.Route) {
					t.Errorf("%s does not name %s", path, d.Route)
				}
			}
		}
	}
	a := e.do("GET", "/docs", "")
	if got := a.header.Get("Content-Security-Policy"); got != "default-src 'none'; style-src 'unsafe-inline'" {
		t.Errorf("the page may load: %q", got)
	}
	for _, m := range regexp.MustCompile(`(?i)<(script|link|img|iframe)|(src|href|action)="([^"]*)"|url\(`).FindAllStringSubmatch(string(a.raw), -1) {
		if to := m[3]; !strings.HasPrefix(to, "#") && (!strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//")) {
			t.Errorf("the page has %s", m[0])
		}
	}
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	e := serve(t, api.Config{Store: newStub(), PublishPrice: 20_000})
	var d struct {
		Capabilities []struct {
			ID        string         `json:"id"`
			Summary   string         `json:"summary"`
			Method    string         `json:"method"`
			Path      string         `json:"path"`
			Available bool           `json:"available"`
			Billing   map[string]any `json:"billing"`
			Request   map[string]any `json:"request_schema"`
			Response  map[string]any `json:"response_schema"`
		} `json:"capabilities"`
	}
	if err := json.Unmarshal(e.do("GET", "/v1/discovery", "", "Authorization", "").raw, &d, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, c := range d.Capabilities {
		at[c.ID] = i
		if c.Response == nil || c.Summary == "" || !c.Available || (c.Billing["metered"] == true) != strings.HasPrefix(c.ID, "queue.publish") || c.Billing["metered"] == true && (c.Billing["price_usd"] != 0.00002 || c.Billing["unit"] != "message") {
			t.Errorf("%s: %+v", c.ID, c)
		}
		one := e.do("GET", "/v1/discovery/"+c.ID, "", "Authorization", "")
		var id struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(one.raw, &id); err != nil || one.status != 200 || id.ID != c.ID {
			t.Errorf("%s: %d %s", c.ID, one.status, one.raw)
		}
	}
	for _, route := range api.Descriptions() {
		if i, ok := at[route.ID]; !ok || d.Capabilities[i].Method+" "+d.Capabilities[i].Path != route.Route {
			t.Errorf("%s, %s, is not discovered", route.ID, route.Route)
		}
	}
	publish := d.Capabilities[at["queue.publish"]]
	if p, _ := publish.Request["properties"].(map[string]any); p["payload"] == nil || publish.Method != "POST" || d.Capabilities[at["queue.dlq.redrive"]].Path != "/v1/queue/dlq/redrive/{queue}" {
		t.Errorf("%+v", publish)
	}
	if strings.Contains(string(e.do("GET", "/v1/discovery", "").raw), "$ref") {
		t.Error("a schema of a capability does not stand by itself")
	}
	if none := e.do("GET", "/v1/discovery/queue.none", ""); none.status != 404 || !strings.HasPrefix(string(none.raw), `{"error":{"code":"NOT_FOUND"`) {
		t.Errorf("no capability: %d %s", none.status, none.raw)
	}
}
