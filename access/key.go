package access

import (
	"crypto/rand"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/onceward/onceward/internal/fault"
)

// Configured is the name of the root key that a server's configuration sets: the next start replaces it, so no other key may have it.
const Configured = "configured"

const (
	maxKeyName = 128

	// Memory is how long a key that was revoked or expired is still listed.
	Memory = 90 * 24 * time.Hour
)

// NewSecret makes a key's secret, 192 bits by chance.
func NewSecret() string {
	var b [24]byte
	rand.Read(b[:])
	return "ow_" + base64.RawURLEncoding.EncodeToString(b[:])
}

// NewKey is what a key is made of.
type NewKey struct {
	Project   int64
	Name      string // may be empty: its id then names it
	Scopes    []Scope
	ExpiresAt time.Time // zero: never
	Hash      []byte    // of its secret
}

// Check refuses what no key can be, and puts the scopes in their order, each once.
func (n *NewKey) Check() error {
	if err := checkKeyName(n.Name); err != nil {
		return err
	}
	if len(n.Scopes) == 0 {
		return fault.Invalid("/scopes", "scopes is empty; a key has at least one of %s", scopeNames())
	}
	for i, s := range n.Scopes {
		if !slices.Contains(scopes, s) {
			return fault.Invalid("/scopes/"+strconv.Itoa(i), "there is no scope %s; there are %s", fault.Quote(string(s)), scopeNames())
		}
	}
	n.Scopes = slices.DeleteFunc(slices.Clone(scopes), func(s Scope) bool { return !slices.Contains(n.Scopes, s) })
	return nil
}

func checkKeyName(name string) error {
	switch bad := func(r rune) bool { return !unicode.IsPrint(r) }; {
	case len(name) > maxKeyName:
		return fault.Invalid("/name", "the key's name has %d bytes; it may have %d", len(name), maxKeyName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, bad) || strings.TrimSpace(name) != name:
		return fault.Invalid("/name", "the key's name %s is not printable text without spaces around it", fault.Quote(name))
	case name == Configured:
		return fault.Invalid("/name", "the key's name %q is kept for the key of ONCEWARD_API_KEY", name).WithHint("take another name")
	}
	return nil
}

func scopeNames() string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

// Key is the key as it is kept, without its id, made at now of the database's clock.
func (n NewKey) Key(now time.Time) (Key, error) {
	if !n.ExpiresAt.IsZero() && !n.ExpiresAt.After(now) {
		return Key{}, fault.Invalid("/expires_at", "expires_at is %s, which is past; it is %s now", stamp(n.ExpiresAt), stamp(now))
	}
	return Key{Project: n.Project, Name: n.Name, Scopes: n.Scopes, CreatedAt: now, ExpiresAt: n.ExpiresAt}, nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// MayGive refuses the making of a key that may do what k may not.
func (k Key) MayGive(to []Scope) error {
	for i, s := range to {
		if !k.May(s) {
			return &fault.Error{
				Code: fault.Forbidden, Field: "/scopes/" + strconv.Itoa(i), Message: "a key gives no more than it has: to give " + string(s) + " wants a key of scope root",
				Hint: "leave it out, or use a key of scope root",
			}
		}
	}
	return nil
}

// MayRevoke refuses the end of a key that may do what k may not: an admin of the default project is not to lock out its operator.
func (k Key) MayRevoke(other Key) error {
	for _, s := range other.Scopes {
		if !k.May(s) {
			return fault.New(fault.Forbidden, "the key has scope %s: to revoke it wants a key of scope root", s)
		}
	}
	return nil
}

// Reaches reports whether k may see and change the keys of a project.
func (k Key) Reaches(project int64) bool { return k.Project == project || k.May(Root) }

// NoKey is the answer for a key that is not there.
func NoKey() error { return fault.New(fault.NotFound, "there is no such key") }

// NoProject is the answer for a project that is not there.
func NoProject() error { return fault.New(fault.NotFound, "there is no such project") }
