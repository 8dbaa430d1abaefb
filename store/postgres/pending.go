package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/migrate"
)

// Pending gives the migrations that [Open] would apply to the database at url, without opening the store. A store of a
// newer program is a [*migrate.NewerError].
func Pending(ctx context.Context, url string) ([]migrate.Migration, error) {
	cfg, err := poolConfig(url)
	if err != nil {
		return nil, err
	}
	c, err := pgx.ConnectConfig(ctx, cfg.ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("look at the store: %w", err)
	}
	defer c.Close(context.WithoutCancel(ctx))
	applied, there := 0, false
	if err := c.QueryRow(ctx, "SELECT to_regclass('migrations') IS NOT NULL").Scan(&there); err != nil {
		return nil, fmt.Errorf("look at the store: %w", err)
	}
	if there {
		if err := c.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM migrations").Scan(&applied); err != nil {
			return nil, fmt.Errorf("look at the store: %w", err)
		}
	}
	all, err := migrate.Load(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return migrate.Pending(all, applied)
}
