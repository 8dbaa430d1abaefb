package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

type projectMade struct {
	ID   string `json:"project_id"`
	Name string `json:"name"`
}

type keyMade struct {
	ID      string   `json:"key_id"`
	Project string   `json:"project_id"`
	Name    *string  `json:"name"`
	Scopes  []string `json:"scopes"`
	Created string   `json:"created_at"`
	Expires *string  `json:"expires_at"`
	Revoked *string  `json:"revoked_at"`
	Key     string   `json:"key"`
}

type keyList struct {
	Items []keyMade `json:"items"`
	Next  *string   `json:"next_cursor"`
}

// makeKey makes a key of the caller's project, or of the one that the fields name.
func (e *edge) makeKey(fields string) keyMade {
	e.t.Helper()
	var k keyMade
	e.do("POST", "/v1/keys", "{"+fields+"}").ok(&k)
	return k
}

// as is the same server under another key.
func (e *edge) as(key string) *edge {
	o := *e
	o.key = key
	return &o
}

func (e *edge) makeProject(name string) projectMade {
	e.t.Helper()
	var p projectMade
	e.do("POST", "/v1/projects", `{"name":"`+name+`"}`).ok(&p)
	return p
}

func (e *edge) keys(query string) []keyMade {
	e.t.Helper()
	var l keyList
	e.do("GET", "/v1/keys"+query, "").ok(&l)
	return l.Items
}

func TestProjectsAndKeys(t *testing.T) {
	t.Parallel()
	r := open(t)
	team := r.makeProject("team")
	if team.Name != "team" || !strings.HasPrefix(team.ID, "prj_") || len(team.ID) != 28 {
		t.Errorf("%+v", team)
	}
	r.post("/v1/projects", `{"name":"team"}`).fails(409, "CONFLICT", "/name")
	for _, body := range []string{`{}`, `{"name":null}`} {
		r.post("/v1/projects", body).fails(400, "INVALID_ARGUMENT", "/name")
	}
	for _, name := range []string{"", "a b", "é", strings.Repeat("x", 129)} {
		r.post("/v1/projects", `{"name":"`+name+`"}`).fails(400, "INVALID_ARGUMENT", "/name")
	}
	k := r.makeKey(`"name":"deploy","scopes":["read","admin","read"],"project_id":"` + team.ID + `","expires_at":"2100-01-01T00:00:00+01:00"`)
	if k.Project != team.ID || *k.Name != "deploy" || !slices.Equal(k.Scopes, []string{"read", "admin"}) || *k.Expires != "2099-12-31T23:00:00.000000Z" || k.Revoked != nil ||
		!strings.HasPrefix(k.ID, "key_") || !strings.HasPrefix(k.Key, "ow_") || len(k.Key) < 32 {
		t.Errorf("%+v", k)
	}
	// It is a key of its project: the queue that it makes is there, not in the default one.
	mine := r.as(k.Key)
	mine.do("POST", "/v1/queue/create", `{"name":"theirs"}`).ok(nil)
	r.get("/v1/queue/get/theirs").fails(404, "QUEUE_NOT_FOUND", "")

	nameless := mine.makeKey(`"scopes":["consume"]`)
	if nameless.Name != nil || nameless.Expires != nil || nameless.Project != team.ID || nameless.Key == k.Key {
		t.Errorf("%+v", nameless)
	}
	for field, body := range map[string]string{
		"/scopes":     `{}`,
		"/scopes/1":   `{"scopes":["read","write"]}`,
		"/scopes/0":   `{"scopes":[null]}`,
		"/expires_at": `{"scopes":["read"],"expires_at":"2001-01-01T00:00:00Z"}`,
		"/name":       `{"scopes":["read"],"name":"configured"}`,
		"/project_id": `{"scopes":["read"],"project_id":""}`,
	} {
		a := mine.do("POST", "/v1/keys", body).fails(400, "INVALID_ARGUMENT", field)
		if field == "/expires_at" && !strings.Contains(a.Error.Message, "2001-01-01T00:00:00Z") {
			t.Errorf("%s", a.Error.Message)
		}
	}
	mine.do("POST", "/v1/keys", `{"scopes":[]}`).fails(400, "INVALID_ARGUMENT", "/scopes")
	mine.do("POST", "/v1/keys", `{"scopes":["read"],"name":" x"}`).fails(400, "INVALID_ARGUMENT", "/name")
	mine.do("POST", "/v1/keys", `{"scopes":["read"],"name":"`+strings.Repeat("x", 129)+`"}`).fails(400, "INVALID_ARGUMENT", "/name")

	// Lists show everything but the secret, and each its own project alone.
	a := mine.do("GET", "/v1/keys", "").ok(nil)
	if strings.Contains(string(a.raw), "ow_") || strings.Contains(string(a.raw), `"key"`) {
		t.Errorf("a list shows a secret: %s", a.raw)
	}
	for name, got := range map[string][]keyMade{"by its own": mine.keys(""), "by root": r.keys("?project_id=" + team.ID), "by its own id": mine.keys("?project_id=" + team.ID)} {
		if len(got) != 2 || got[0].ID != nameless.ID || got[1].ID != k.ID {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := r.keys(""); len(got) != 1 || got[0].Scopes[0] != "root" {
		t.Errorf("the default project's: %+v", got)
	}
	var p keyList
	mine.do("GET", "/v1/keys?limit=1", "").ok(&p)
	mine.do("GET", "/v1/keys?limit=1&cursor="+*p.Next, "").ok(&p)
	if len(p.Items) != 1 || p.Items[0].ID != k.ID || p.Next != nil {
		t.Errorf("the second page: %+v", p)
	}
	var names []string
	for cursor := ""; ; {
		var l struct {
			Items []projectMade `json:"items"`
			Next  *string       `json:"next_cursor"`
		}
		r.get("/v1/projects?limit=1" + cursor).ok(&l)
		for _, p := range l.Items {
			names = append(names, p.Name)
		}
		if l.Next == nil {
			break
		}
		cursor = "&cursor=" + *l.Next
	}
	if got := strings.Join(names, " "); got != "other team default" { // the rig has given the other one a high number
		t.Errorf("projects, newest first: %s", got)
	}
}

// A key gives and takes no more than it has, and reaches no project but its own.
func TestKeysOfOthers(t *testing.T) {
	t.Parallel()
	r := open(t)
	a, b := r.makeProject("a"), r.makeProject("b")
	admin := func(p projectMade) keyMade { return r.makeKey(`"scopes":["admin"],"project_id":"` + p.ID + `"`) }
	ka, kb := admin(a), admin(b)
	ea, local := r.as(ka.Key), r.as(r.makeKey(`"scopes":["admin"]`).Key)

	ea.do("POST", "/v1/keys", `{"scopes":["read","root"]}`).fails(403, "FORBIDDEN", "/scopes/1")
	ea.do("GET", "/v1/projects", "").fails(403, "FORBIDDEN", "")
	ea.do("POST", "/v1/projects", `{"name":"c"}`).fails(403, "FORBIDDEN", "")
	forged := a.ID[:len(a.ID)-4] + "0000"
	for _, id := range []string{b.ID, forged, "prj_0", ka.ID} {
		for _, got := range []*answer{
			ea.do("POST", "/v1/keys", `{"scopes":["read"],"project_id":"`+id+`"}`).fails(404, "NOT_FOUND", "/project_id"),
			ea.do("GET", "/v1/keys?project_id="+id, "").fails(404, "NOT_FOUND", "/project_id"),
		} {
			if said := strings.Replace(got.Error.Message, id, "", 1); said != `there is no project ""` {
				t.Errorf("%s: %s", id, got.Error.Message)
			}
		}
	}
	for _, id := range []string{kb.ID, "key_0", b.ID} {
		if got := ea.do("DELETE", "/v1/keys/"+id, "").fails(404, "NOT_FOUND", ""); got.Error.Message != `there is no key "`+id+`"` {
			t.Errorf("%s: %s", id, got.Error.Message)
		}
	}
	r.as(kb.Key).do("GET", "/v1/queue/list", "").ok(nil)

	// The default project's admin does not lock out its operator.
	rootID := ""
	for _, k := range local.keys("") {
		if k.Scopes[0] == "root" {
			rootID = k.ID
		}
	}
	local.do("DELETE", "/v1/keys/"+rootID, "").fails(403, "FORBIDDEN", "")
	// Root reaches all, and makes roots, in any project.
	r.do("DELETE", "/v1/keys/"+kb.ID, "").ok(nil)
	second := r.makeKey(`"scopes":["root"],"project_id":"` + b.ID + `"`)
	r.as(second.Key).do("GET", "/v1/projects", "").ok(nil)
	r.as(second.Key).do("GET", "/v1/queue/list", "").ok(nil)
	r.as(second.Key).do("DELETE", "/v1/keys/"+ka.ID, "").ok(nil)
	eventually(t, "the keys that were revoked are refused", func() bool {
		return ea.do("GET", "/v1/queue/list", "").status == 401 && r.as(kb.Key).do("GET", "/v1/queue/list", "").status == 401
	})
}

func TestRevokedKeys(t *testing.T) {
	t.Parallel()
	r := open(t)
	k := r.makeKey(`"name":"old","scopes":["admin"]`)
	e := r.as(k.Key)
	e.do("GET", "/v1/queue/list", "").ok(nil)
	for range 2 { // a repeated call is the same call
		if a := r.do("DELETE", "/v1/keys/"+k.ID, "").ok(nil); string(a.Data) != `{"deleted":true}` {
			t.Errorf("%s", a.Data)
		}
	}
	gone := time.Now()
	for {
		began := time.Now()
		a := e.do("GET", "/v1/queue/list", "")
		if a.status == 401 {
			break
		}
		if began.Sub(gone) > time.Second {
			t.Fatalf("a call begun %v after the revocation: %d", began.Sub(gone), a.status)
		}
	}
	if l := r.keys(""); l[0].ID != k.ID || l[0].Revoked == nil || *l[0].Name != "old" {
		t.Errorf("a revoked key is listed, with when: %+v", l)
	}
	// A key may revoke itself.
	k = r.makeKey(`"scopes":["admin"]`)
	r.as(k.Key).do("DELETE", "/v1/keys/"+k.ID, "").ok(nil)
	// And one that expires does so by itself.
	at := time.Now().Add(1500 * time.Millisecond)
	e = r.as(r.makeKey(fmt.Sprintf(`"scopes":["read"],"expires_at":"%s"`, at.UTC().Format(time.RFC3339Nano))).Key)
	for {
		began := time.Now()
		a := e.do("GET", "/v1/queue/list", "")
		if a.status == 401 {
			if began.Before(at.Add(-time.Millisecond)) {
				t.Errorf("a key expired %v early", at.Sub(began))
			}
			break
		}
		if began.Sub(at) > time.Second {
			t.Fatalf("a call begun %v after the key expired: %d", began.Sub(at), a.status)
		}
	}
}

// The same making again is the first answer, without the secret, which is nowhere in the store.
func TestKeyReplays(t *testing.T) {
	t.Parallel()
	r := open(t)
	const body, same = `{"name":"ci","scopes":["publish","read"]}`, `{"scopes":["read","publish","read"],"expires_at":null,"name":"ci"}`
	var first, again keyMade
	r.post("/v1/keys", body, "Idempotency-Key", "k").ok(&first)
	a := r.post("/v1/keys", same, "Idempotency-Key", "k").ok(&again)
	if !*a.Metadata.Replay || again.ID != first.ID || again.Key != "" || !strings.Contains(string(a.Data), `"key":null`) {
		t.Errorf("%s", a.raw)
	}
	for _, other := range []string{`{"name":"ci","scopes":["publish"]}`, `{"scopes":["publish","read"]}`, `{"name":"ci","scopes":["publish","read"],"expires_at":"2100-01-01T00:00:00Z"}`} {
		r.post("/v1/keys", other, "Idempotency-Key", "k").fails(409, "IDEMPOTENCY_KEY_REUSED", "*")
	}
	var p, q projectMade
	r.post("/v1/projects", `{"name":"p"}`, "Idempotency-Key", "k").ok(&p)
	if a := r.post("/v1/projects", `{"name":"p"}`, "Idempotency-Key", "k").ok(&q); !*a.Metadata.Replay || q != p {
		t.Errorf("%s", a.raw)
	}
	r.post("/v1/projects", `{"name":"q"}`, "Idempotency-Key", "k").fails(409, "IDEMPOTENCY_KEY_REUSED", "*")
	rows, err := r.db.Query("SELECT quote(hash) || scopes || name FROM keys UNION ALL SELECT CAST(answer AS TEXT) FROM request_keys")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var s string
		if err := rows.Scan(&s); err != nil || strings.Contains(s, first.Key) {
			t.Errorf("%s: a secret is kept (%v)", s, err)
		}
	}
	if n < 4 {
		t.Errorf("only %d rows were looked at", n)
	}
}
