package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/onceward/onceward/internal/migrate"
)

// Pending gives the migrations that [Open] would apply to the file at path, without opening the store: all of them where
// there is no file. A store of a newer program is a [*migrate.NewerError].
func Pending(ctx context.Context, path string) ([]migrate.Migration, error) {
	full, err := place(path)
	if err != nil {
		return nil, fmt.Errorf("look at store %s: %w", path, err)
	}
	version := 0
	switch _, err := os.Stat(full); {
	case err == nil:
		pool := sql.OpenDB(connector{full})
		defer pool.Close()
		if err := pool.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return nil, fmt.Errorf("look at store %s: %w", path, err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("look at store %s: %w", path, err)
	}
	all, err := migrate.Load(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return migrate.Pending(all, version)
}
