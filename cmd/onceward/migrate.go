package main

import (
	"context"
	"fmt"

	"github.com/onceward/onceward"
)

type migrateCmd struct {
	Store string `env:"ONCEWARD_STORE" default:"sqlite:onceward.db" help:"The store: sqlite:PATH, or postgres://…"`
	Show  bool   `help:"Only show what would be applied."`
}

func (c *migrateCmd) Run(ctx context.Context, out output) error {
	pending, err := onceward.Migrations(ctx, c.Store)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	for _, m := range pending {
		fmt.Fprintf(out, "%04d %s\n", m.Version, m.Name)
	}
	switch {
	case len(pending) == 0:
		_, err = fmt.Fprintln(out, "the store is up to date")
		return err
	case c.Show:
		_, err = fmt.Fprintf(out, "%d to apply\n", len(pending))
		return err
	}
	if err := onceward.Migrate(ctx, c.Store); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	_, err = fmt.Fprintf(out, "%d applied\n", len(pending))
	return err
}
