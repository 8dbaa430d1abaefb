package onceward

import (
	"context"
	"errors"

	"github.com/onceward/onceward/store/postgres"
	"github.com/onceward/onceward/store/sqlite"
)

// Migration is a step of a store's schema that has not been applied.
type Migration struct {
	Version int
	Name    string
}

// Migrations gives what [New] or [Migrate] would apply to a store, named as in Config, and changes nothing. A store of a newer
// version is an error.
func Migrations(ctx context.Context, store string) ([]Migration, error) {
	where, err := parseStore(store)
	if err != nil {
		return nil, err
	}
	look, at := sqlite.Pending, where.path
	if where.postgres != "" {
		look, at = postgres.Pending, where.postgres
	}
	pending, err := look(ctx, at)
	if err != nil {
		return nil, err
	}
	out := make([]Migration, len(pending))
	for i, m := range pending {
		out[i] = Migration{m.Version, m.Name}
	}
	return out, nil
}

// Migrate brings a store's schema up to date. A running server of SQLite must be stopped first; those of PostgreSQL wait
// while it goes on.
func Migrate(ctx context.Context, store string) error {
	where, err := parseStore(store)
	if err != nil {
		return err
	}
	s, err := openStore(ctx, where, nil, nil)
	if err != nil {
		return err
	}
	return s.Close()
}

// SQLFunctions makes the functions by which SQL publishes, sends and claims inside a transaction of its own (wanted), or drops them, and answers their names. The store is one on
// PostgreSQL; its schema is brought up to date with it. Once made, they are kept up to date by every start of a server.
func SQLFunctions(ctx context.Context, store string, wanted bool) ([]string, error) {
	where, err := parseStore(store)
	if err != nil {
		return nil, err
	}
	if where.postgres == "" {
		return nil, errors.New("SQL functions are for a store on PostgreSQL (postgres://…): a file of SQLite belongs to one process")
	}
	return postgres.Functions(ctx, where.postgres, wanted)
}
