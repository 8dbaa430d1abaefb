package access

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/fault"
)

var now = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func TestMay(t *testing.T) {
	t.Parallel()
	for has, may := range map[Scope]string{
		Publish: "publish", Consume: "consume", Webhooks: "webhooks", Read: "read",
		Admin: "publish consume webhooks read admin", Root: "publish consume webhooks read admin root",
	} {
		var got []string
		for _, s := range scopes {
			if (Key{Scopes: []Scope{has}}).May(s) {
				got = append(got, string(s))
			}
		}
		if strings.Join(got, " ") != may {
			t.Errorf("%s may %v; want %s", has, got, may)
		}
	}
	if !(Key{Scopes: []Scope{Read, Publish}}).May(Publish) || (Key{}).May(Read) {
		t.Error("a key may what its scopes say")
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		key  Key
		live bool
	}{
		"neither":           {Key{}, true},
		"expires later":     {Key{ExpiresAt: now.Add(1)}, true},
		"expires now":       {Key{ExpiresAt: now}, false},
		"expired":           {Key{ExpiresAt: now.Add(-1)}, false},
		"revoked":           {Key{RevokedAt: now.Add(-1)}, false},
		"revoked by a rush": {Key{RevokedAt: now.Add(time.Hour)}, false},
		"revoked, expires":  {Key{RevokedAt: now, ExpiresAt: now.Add(1)}, false},
	} {
		if c.key.Live(now) != c.live {
			t.Errorf("%s: live is %v", what, !c.live)
		}
	}
}

func TestNewKey(t *testing.T) {
	t.Parallel()
	read := []Scope{Read}
	for what, c := range map[string]struct {
		n     NewKey
		field string // of the refusal; none: it is taken
	}{
		"plain":               {NewKey{Scopes: read}, ""},
		"named":               {NewKey{Name: "the team's, für CI 7", Scopes: read}, ""},
		"longest name":        {NewKey{Name: strings.Repeat("n", 128), Scopes: read}, ""},
		"longer name":         {NewKey{Name: strings.Repeat("n", 129), Scopes: read}, "/name"},
		"a line's end":        {NewKey{Name: "a\nb", Scopes: read}, "/name"},
		"a zero":              {NewKey{Name: "a\x00", Scopes: read}, "/name"},
		"no text":             {NewKey{Name: "\xff", Scopes: read}, "/name"},
		"a space before":      {NewKey{Name: " a", Scopes: read}, "/name"},
		"spaces alone":        {NewKey{Name: "  ", Scopes: read}, "/name"},
		"the configured name": {NewKey{Name: "configured", Scopes: read}, "/name"},
		"no scope":            {NewKey{}, "/scopes"},
		"an odd scope":        {NewKey{Scopes: []Scope{Read, "Read"}}, "/scopes/1"},
		"an empty scope":      {NewKey{Scopes: []Scope{""}}, "/scopes/0"},
	} {
		err := c.n.Check()
		if got := fieldOf(err); (err == nil) != (c.field == "") || got != c.field {
			t.Errorf("%s: %v, field %q; want %q", what, err, got, c.field)
		}
	}
	n := NewKey{Scopes: []Scope{Root, Publish, Root, Read}}
	if err := n.Check(); err != nil || fmt.Sprint(n.Scopes) != "[publish read root]" {
		t.Errorf("%v %v", n.Scopes, err)
	}
	for _, at := range []time.Time{now, now.Add(-time.Hour)} {
		if _, err := (NewKey{Scopes: read, ExpiresAt: at}).Key(now); fieldOf(err) != "/expires_at" {
			t.Errorf("%v: %v", at, err)
		}
	}
	if k, err := (NewKey{Project: 7, Name: "n", Scopes: read, ExpiresAt: now.Add(1)}).Key(now); err != nil || k.Project != 7 || !k.CreatedAt.Equal(now) || !k.Live(now) {
		t.Errorf("%+v %v", k, err)
	}
}

func fieldOf(err error) string {
	if e, ok := err.(*fault.Error); ok {
		return e.Field
	}
	return ""
}

// No key gives or takes what it has not.
func TestGiveAndTake(t *testing.T) {
	t.Parallel()
	for _, by := range scopes {
		for _, of := range scopes {
			k, other := Key{Scopes: []Scope{by}}, Key{Scopes: []Scope{of}}
			for what, err := range map[string]error{"give": k.MayGive(other.Scopes), "revoke": k.MayRevoke(other)} {
				if (err == nil) != k.May(of) || err != nil && fault.CodeOf(err) != fault.Forbidden {
					t.Errorf("%s, %s %s: %v", by, what, of, err)
				}
			}
		}
	}
	a, root := Key{Project: 1, Scopes: []Scope{Admin}}, Key{Project: 1, Scopes: []Scope{Root}}
	if !a.Reaches(1) || a.Reaches(2) || !root.Reaches(2) {
		t.Error("a key reaches its own project, root any")
	}
}

func TestProjectNames(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"a": true, "Team-7_x.y": true, strings.Repeat("x", 128): true,
		"": false, strings.Repeat("x", 129): false, "a b": false, "a/b": false, "é": false, "a\n": false,
	} {
		if err := CheckProjectName(name); (err == nil) != ok || err != nil && fieldOf(err) != "/name" {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		s := NewSecret()
		if seen[s] || len(s) < 16 || len(s) > 255 || !strings.HasPrefix(s, "ow_") {
			t.Fatal(s)
		}
		seen[s] = true
	}
}
