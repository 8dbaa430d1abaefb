package onceward

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/onceward/onceward/store"
	"github.com/onceward/onceward/store/postgres"
	"github.com/onceward/onceward/store/sqlite"
)

// storeURL is a Config's Store, read. One of its fields is set.
type storeURL struct {
	path     string // of a SQLite file
	postgres string
}

func parseStore(s string) (storeURL, error) {
	if p, ok := strings.CutPrefix(s, "sqlite:"); ok {
		p = strings.TrimPrefix(p, "//")
		if p == "" || p == ":memory:" {
			return storeURL{}, fmt.Errorf("config Store is %q; it must name a file: sqlite:onceward.db", s)
		}
		return storeURL{path: p}, nil
	}
	if strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://") {
		if _, err := url.Parse(s); err != nil { // whose text has the whole of it
			return storeURL{}, fmt.Errorf("config Store is %q, which cannot be read as a URL; what is special in a password is written in per cent, as %%40 for @", RedactStore(s))
		}
		return storeURL{postgres: s}, nil
	}
	return storeURL{}, fmt.Errorf("config Store is %q; it must be sqlite:PATH or postgres://…", RedactStore(s))
}

// RedactStore gives a store's name without its password, for people and logs. Of what is no URL, for a letter of the password perhaps, it gives little.
func RedactStore(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		scheme, _, ok := strings.Cut(s, "://")
		if !ok {
			return "xxxxx"
		}
		return scheme + "://xxxxx"
	}
	if u.User != nil {
		s = u.Redacted()
	}
	s = storeUser.ReplaceAllString(s, "//$1:xxxxx@")
	return storePassword.ReplaceAllString(s, "${1}xxxxx")
}

var (
	storeUser     = regexp.MustCompile(`(?s)//([^:@/]*):.*@`)                      // to the last @: one before it may be the password's
	storePassword = regexp.MustCompile(`(?is)(password\s*=\s*)('[^']*'?|[^&\s]*)`) // in the query, or in words: host=db password=…
)

// openStore opens a store and brings its schema up to date.
func openStore(ctx context.Context, s storeURL, l *slog.Logger, observe func(op string, items int, took time.Duration)) (store.Store, error) {
	if s.path != "" {
		return kept(sqlite.Open(ctx, s.path, sqlite.Options{Logger: l, Observe: observe}))
	}
	return kept(postgres.Open(ctx, s.postgres, postgres.Options{Logger: l, Observe: observe}))
}

// kept keeps a nil pointer from becoming a store that is not nil.
func kept[S store.Store](s S, err error) (store.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
