package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/idempotency"
	"github.com/onceward/onceward/internal/fault"
)

var keyTests = []named{
	{"projects are made, each name once, and listed", projects},
	{"many that make one project at once make one", oneProject},
	{"a key is made, found by its hash, and listed in its project", keys},
	{"a key that cannot be is refused, and nothing is kept", noSuchKeys},
	{"a key ends when it is revoked, once and for good", revoked},
	{"a key expires by the database's clock", keyExpires},
	{"keys that ended long ago are forgotten, the others not", forgottenKeys},
	{"the root key stays the same row, and a revoked one stays revoked", rootKeyStays},
	{"a key's making under a request key is one, its answer the first", keyOnce},
}

// makeKey makes a live key of r.project.
func (r *rig) makeKey(secret string, scopes ...access.Scope) access.Key {
	r.Helper()
	k, err := r.CreateKey(r.ctx, access.NewKey{Project: r.project, Name: "of " + secret, Scopes: scopes, Hash: access.Hash(secret)})
	r.ok(err)
	return k
}

func (r *rig) live(secret string) bool {
	r.Helper()
	_, live, err := r.KeyByHash(r.ctx, access.Hash(secret))
	if errors.Is(err, access.ErrNotFound) {
		return false
	}
	r.ok(err)
	return live
}

func projects(r *rig) {
	all := []string{"default"}
	for i := range 7 {
		name := fmt.Sprintf("team-%d", i)
		began := r.now()
		p, err := r.CreateProject(r.ctx, name, nil)
		r.ok(err)
		want(r, "name", p.Name, name)
		if p.ID <= access.DefaultProject || p.CreatedAt.Before(began.Truncate(time.Microsecond)) || p.CreatedAt.After(r.now()) {
			r.Errorf("made: %+v", p)
		}
		all = append(all, name)
	}
	r.reopen()
	_, err := r.CreateProject(r.ctx, "team-3", nil)
	want(r, "taken", errors.Is(err, access.ErrConflict), true)
	_, err = r.CreateProject(r.ctx, "no such!", nil)
	want(r, "no name", fault.CodeOf(err), fault.InvalidArgument)
	slices.Reverse(all)
	var got []string
	for after := int64(0); ; {
		page, err := r.Projects(r.ctx, after, 3)
		r.ok(err)
		for _, p := range page {
			got = append(got, p.Name)
			after = p.ID
		}
		if len(page) < 3 {
			break
		}
	}
	want(r, "projects, newest first", strings.Join(got, " "), strings.Join(all, " "))
}

func oneProject(r *rig) {
	var wg sync.WaitGroup
	made := make([]error, 8)
	for i := range made {
		wg.Go(func() { _, made[i] = r.CreateProject(r.ctx, "one", nil) })
	}
	wg.Wait()
	n := 0
	for _, err := range made {
		if err == nil {
			n++
		} else if !errors.Is(err, access.ErrConflict) {
			r.Error(err)
		}
	}
	want(r, "made", n, 1)
	want(r, "kept", r.count("SELECT count(*) FROM projects"), 2)
}

func keys(r *rig) {
	p, err := r.CreateProject(r.ctx, "team", nil)
	r.ok(err)
	r.project = p.ID
	k := r.makeKey("mine", access.Read, access.Publish, access.Read)
	want(r, "scopes, each once", fmt.Sprint(k.Scopes), "[publish read]")
	r.reopen()
	got, live, err := r.KeyByHash(r.ctx, access.Hash("mine"))
	r.ok(err)
	want(r, "live", live, true)
	want(r, "by its hash", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", k))
	got, err = r.Key(r.ctx, k.ID)
	r.ok(err)
	want(r, "by its id", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", k))
	_, err = r.Key(r.ctx, k.ID+1000)
	want(r, "no such", errors.Is(err, access.ErrNotFound), true)
	for i := range 4 {
		r.makeKey(itoa(int64(i)), access.Consume)
	}
	r.project = access.DefaultProject
	r.makeKey("theirs", access.Admin)

	var names []string
	for after := int64(0); ; {
		page, err := r.Keys(r.ctx, p.ID, after, 2)
		r.ok(err)
		for _, k := range page {
			names = append(names, k.Name)
			want(r, "project", k.Project, p.ID)
			after = k.ID
		}
		if len(page) < 2 {
			break
		}
	}
	want(r, "keys, newest first", strings.Join(names, ", "), "of 3, of 2, of 1, of 0, of mine")
	for _, row := range r.text("SELECT * FROM keys") {
		if strings.Contains(row, "ow_") {
			r.Errorf("a secret is kept: %s", row)
		}
	}
}

func noSuchKeys(r *rig) {
	good := access.NewKey{Project: access.DefaultProject, Scopes: []access.Scope{access.Read}, Hash: access.Hash("x")}
	for what, c := range map[string]struct {
		change func(*access.NewKey)
		code   fault.Code
	}{
		"no project":  {func(n *access.NewKey) { n.Project = 4711 }, fault.NotFound},
		"no scope":    {func(n *access.NewKey) { n.Scopes = nil }, fault.InvalidArgument},
		"odd scope":   {func(n *access.NewKey) { n.Scopes = []access.Scope{"write"} }, fault.InvalidArgument},
		"past":        {func(n *access.NewKey) { n.ExpiresAt = r.now().Add(-time.Second) }, fault.InvalidArgument},
		"kept name":   {func(n *access.NewKey) { n.Name = access.Configured }, fault.InvalidArgument},
		"no printing": {func(n *access.NewKey) { n.Name = "a\nb" }, fault.InvalidArgument},
	} {
		n := good
		c.change(&n)
		_, err := r.CreateKey(r.ctx, n)
		want(r, what, fault.CodeOf(err), c.code)
	}
	want(r, "kept", r.count("SELECT count(*) FROM keys"), 0)
	_, err := r.RevokeKey(r.ctx, 4711)
	want(r, "revoke", errors.Is(err, access.ErrNotFound), true)
}

func revoked(r *rig) {
	k := r.makeKey("k", access.Admin)
	other := r.makeKey("other", access.Admin)
	got, err := r.RevokeKey(r.ctx, k.ID)
	r.ok(err)
	want(r, "revoked", got.RevokedAt.IsZero(), false)
	want(r, "live", r.live("k"), false)
	r.reopen()
	again, err := r.RevokeKey(r.ctx, k.ID)
	r.ok(err)
	want(r, "the first time stays", again.RevokedAt, got.RevokedAt)
	want(r, "live", r.live("k"), false)
	want(r, "the other", r.live("other"), true)
	list, err := r.Keys(r.ctx, r.project, 0, 10)
	r.ok(err)
	want(r, "listed", len(list), 2)
	want(r, "the newest", list[0].ID, other.ID)
}

func keyExpires(r *rig) {
	k, err := r.CreateKey(r.ctx, access.NewKey{Project: r.project, Scopes: []access.Scope{access.Read}, ExpiresAt: r.now().Add(time.Hour), Hash: access.Hash("k")})
	r.ok(err)
	want(r, "live", r.live("k"), true)
	r.age("keys", "expires_at", "id = "+itoa(k.ID), time.Hour-50*time.Millisecond)
	r.eventually("it has expired", func() bool { return !r.live("k") })
	got, err := r.Key(r.ctx, k.ID)
	r.ok(err)
	want(r, "by the clock", got.ExpiresAt.After(r.now()), false)
	want(r, "not revoked", got.RevokedAt.IsZero(), true)
}

func forgottenKeys(r *rig) {
	end := func(secret, column string, ago time.Duration) {
		k, err := r.CreateKey(r.ctx, access.NewKey{Project: r.project, Name: secret, Scopes: []access.Scope{access.Read}, ExpiresAt: r.now().Add(time.Hour), Hash: access.Hash(secret)})
		r.ok(err)
		if column == "revoked_at" {
			_, err = r.RevokeKey(r.ctx, k.ID)
			r.ok(err)
		}
		r.age("keys", column, "id = "+itoa(k.ID), ago)
	}
	const long = access.Memory + 2*time.Hour
	end("revoked long ago", "revoked_at", long)
	end("expired long ago", "expires_at", long)
	end("revoked", "revoked_at", access.Memory-2*time.Hour)
	end("expired", "expires_at", access.Memory-2*time.Hour)
	r.makeKey("live", access.Read)
	list, err := r.Keys(r.ctx, r.project, 0, 10)
	r.ok(err)
	var names []string
	for _, k := range list {
		names = append(names, k.Name)
	}
	want(r, "kept", strings.Join(names, ", "), "of live, expired, revoked")
}

func rootKeyStays(r *rig) {
	set := func(secret string) access.Key {
		r.Helper()
		r.ok(r.SetRootKey(r.ctx, access.Configured, access.Hash(secret)))
		k, _, err := r.KeyByHash(r.ctx, access.Hash(secret))
		r.ok(err)
		return k
	}
	first := set("one")
	want(r, "the same at the next start", set("one").ID, first.ID)
	want(r, "another is another", set("two").ID == first.ID, false)
	want(r, "the one before", r.live("one"), false)
	back := set("one")
	want(r, "back", r.live("one"), true)
	_, err := r.RevokeKey(r.ctx, back.ID)
	r.ok(err)
	set("one")
	want(r, "revoked, then set again", r.live("one"), false)
	set("three")
	want(r, "another", r.live("three"), true)

	// One that people made becomes the root key if that is what is set.
	r.makeKey("mine", access.Read)
	k := set("mine")
	want(r, "scopes", fmt.Sprint(k.Scopes), "[root]")
	want(r, "live", r.live("mine"), true)
	want(r, "the one before", r.live("three"), false)

	// Unless they revoked it.
	leaked := r.makeKey("leaked", access.Read)
	_, err = r.RevokeKey(r.ctx, leaked.ID)
	r.ok(err)
	want(r, "the row of a revoked one", set("leaked").ID, leaked.ID)
	want(r, "revoked by people, then set", r.live("leaked"), false)
}

func keyOnce(r *rig) {
	req := idempotency.Request{Project: 1, Scope: "POST /v1/keys", Key: "k", Hash: make([]byte, 32)}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			_, _, err := r.Once(r.ctx, req, func(ctx context.Context) ([]byte, error) {
				_, err := r.CreateKey(ctx, access.NewKey{Project: 1, Scopes: []access.Scope{access.Read}, Hash: access.Hash(itoa(int64(i)))})
				return []byte("made"), err
			})
			if err != nil {
				r.Error(err)
			}
		})
	}
	wg.Wait()
	want(r, "keys", r.count("SELECT count(*) FROM keys"), 1)
	req.Key = "refused"
	_, _, err := r.Once(r.ctx, req, func(ctx context.Context) ([]byte, error) {
		_, err := r.CreateKey(ctx, access.NewKey{Project: 1, Scopes: []access.Scope{access.Read}, Hash: access.Hash("undone")})
		r.ok(err)
		return nil, fault.New(fault.Conflict, "no")
	})
	want(r, "refused", fault.CodeOf(err), fault.Conflict)
	want(r, "undone", r.live("undone"), false)
}
