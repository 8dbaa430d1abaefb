package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward/api"
)

// open to all, or the scopes that may call it: root may call all of them, admin all but those of root.
var scopesOf = map[string]string{
	"GET /healthz": "open",
	"GET /readyz":  "open",

	"POST /v1/queue/create":           "admin",
	"POST /v1/queue/update/{queue}":   "admin",
	"GET /v1/queue/list":              "read",
	"GET /v1/queue/get/{queue}":       "read",
	"DELETE /v1/queue/delete/{queue}": "admin",
	"POST /v1/queue/pause/{queue}":    "admin",
	"POST /v1/queue/resume/{queue}":   "admin",
	"POST /v1/queue/purge/{queue}":    "admin",
	"GET /v1/queue/stats/{queue}":     "read",
	"GET /v1/queue/messages/{queue}":  "read",

	"POST /v1/queue/publish":       "publish",
	"POST /v1/queue/publish_batch": "publish",
	"POST /v1/queue/consume":       "consume",
	"POST /v1/queue/ack":           "consume",
	"POST /v1/queue/nack":          "consume",
	"POST /v1/queue/release":       "consume",
	"POST /v1/queue/extend":        "consume",
	"POST /v1/queue/ack_batch":     "consume",
	"POST /v1/queue/nack_batch":    "consume",
	"POST /v1/queue/release_batch": "consume",
	"POST /v1/queue/extend_batch":  "consume",

	"GET /v1/queue/dlq/list/{queue}":         "read",
	"POST /v1/queue/dlq/redrive/{queue}":     "admin",
	"GET /v1/queue/dlq/redrive/{queue}":      "read", // by a queue's name: a queue's
	"POST /v1/queue/dlq/redrive_cancel/{id}": "webhooks",
	"GET /v1/redrives/{id}":                  "webhooks read",
	"GET /v1/redrives/{id}/endpoints":        "webhooks read",
	"POST /v1/redrives/{id}/cancel":          "webhooks",

	"POST /v1/queue/push_subscribe/{queue}":          "admin",
	"GET /v1/queue/push_list/{queue}":                "read",
	"DELETE /v1/queue/push_unsubscribe/{queue}/{id}": "admin",

	"POST /v1/webhooks/endpoints":                    "webhooks",
	"GET /v1/webhooks/endpoints":                     "webhooks read",
	"GET /v1/webhooks/endpoints/{id}":                "webhooks read",
	"PATCH /v1/webhooks/endpoints/{id}":              "webhooks",
	"DELETE /v1/webhooks/endpoints/{id}":             "webhooks",
	"POST /v1/webhooks/endpoints/{id}/rotate_secret": "webhooks",
	"POST /v1/webhooks/endpoints/{id}/enable":        "webhooks",
	"POST /v1/webhooks/endpoints/{id}/disable":       "webhooks",
	"POST /v1/webhooks/endpoints/{id}/test":          "webhooks",
	"POST /v1/webhooks/events":                       "webhooks",
	"GET /v1/webhooks/events":                        "webhooks read",
	"GET /v1/webhooks/events/{id}":                   "webhooks read",
	"GET /v1/webhooks/deliveries":                    "webhooks read",
	"GET /v1/webhooks/deliveries/{id}":               "webhooks read",
	"POST /v1/webhooks/deliveries/{id}/resend":       "webhooks",
	"POST /v1/webhooks/deliveries/{id}/resolve":      "webhooks",
	"POST /v1/webhooks/deliveries/{id}/cancel":       "webhooks",
	"POST /v1/webhooks/redrive":                      "webhooks",

	"POST /v1/ledger/claim":    "consume",
	"POST /v1/ledger/begin":    "consume",
	"POST /v1/ledger/complete": "consume",
	"POST /v1/ledger/fail":     "consume",
	"POST /v1/ledger/resolve":  "admin",
	"GET /v1/ledger/claims":    "read",

	"POST /v1/projects":       "root",
	"GET /v1/projects":        "root",
	"PATCH /v1/projects/{id}": "root",
	"GET /v1/account/balance": "read",
	"GET /v1/account/usage":   "read",
	"POST /v1/keys":           "admin",
	"GET /v1/keys":            "admin",
	"DELETE /v1/keys/{id}":    "admin",
}

// Each scope at each route. A route that is not in the table, with the scopes that it is meant to have, fails.
func TestScopes(t *testing.T) {
	t.Parallel()
	r := open(t)
	as := map[string]*edge{}
	for _, s := range []string{"publish", "consume", "webhooks", "read", "admin", "root"} {
		as[s] = r.as(r.makeKey(`"scopes":["` + s + `"]`).Key)
	}
	routes := api.Paths()
	for route := range scopesOf {
		if !slices.Contains(routes, route) {
			t.Errorf("%s is no route", route)
		}
	}
	for _, route := range routes {
		want, known := scopesOf[route]
		if !known {
			t.Errorf("%s: which scopes may call it? Say so in this table and in docs/http-api.md", route)
			continue
		}
		method, path, _ := strings.Cut(route, " ")
		path = strings.NewReplacer("{queue}", "none", "{id}", "none").Replace(path)
		body := "{}"
		if method == "GET" || method == "DELETE" {
			body = ""
		}
		if a := r.do(method, path, body, "Authorization", ""); want != "open" && a.status != 401 || want == "open" && a.status != 200 {
			t.Errorf("%s without a key: %d", route, a.status)
		}
		for scope, e := range as {
			a := e.do(method, path, body)
			may := want == "open" || scope == "root" || scope == "admin" && want != "root" || slices.Contains(strings.Fields(want), scope)
			switch {
			case may && (a.status == 401 || a.status == 403 || a.status == 500):
				t.Errorf("%s with scope %s: %d %s", route, scope, a.status, a.raw)
			case !may:
				if a.fails(403, "FORBIDDEN", ""); a.Error != nil && !strings.Contains(a.Error.Message, strings.Fields(want)[0]) {
					t.Errorf("%s with scope %s: %s: which scope does it want?", route, scope, a.Error.Message)
				}
			}
		}
	}
}

// A redrive of a queue is not one of deliveries.
func TestScopesOfRedrives(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.queue("jobs")
	hooks, reader := r.as(r.makeKey(`"scopes":["webhooks"]`).Key), r.as(r.makeKey(`"scopes":["read"]`).Key)
	id := func(a *answer) (id string) {
		var rd struct {
			ID string `json:"redrive_id"`
		}
		a.ok(&rd)
		return rd.ID
	}
	ofQueue, ofDeliveries := id(r.post("/v1/queue/dlq/redrive/jobs", "")), id(r.post("/v1/webhooks/redrive", `{}`))
	for _, path := range []string{"/v1/redrives/", "/v1/queue/dlq/redrive/"} {
		hooks.do("GET", path+ofQueue, "").fails(403, "FORBIDDEN", "")
		hooks.do("GET", path+ofDeliveries, "").ok(nil)
		reader.do("GET", path+ofQueue, "").ok(nil)
		reader.do("GET", path+ofDeliveries, "").ok(nil)
	}
	for _, path := range []string{"/v1/redrives/ID/cancel", "/v1/queue/dlq/redrive_cancel/ID"} {
		hooks.do("POST", strings.Replace(path, "ID", ofQueue, 1), "").fails(403, "FORBIDDEN", "")
		reader.do("POST", strings.Replace(path, "ID", ofQueue, 1), "").fails(403, "FORBIDDEN", "")
		hooks.do("POST", strings.Replace(path, "ID", ofDeliveries, 1), "").ok(nil)
	}
}
