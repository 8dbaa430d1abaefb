package main

import (
	"context"
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

type migrateCmd struct {
	printer
	Store string `env:"ONCEWARD_STORE" default:"sqlite:onceward.db" help:"The store: sqlite:PATH, or postgres://…"`
	Show  bool   `help:"Only show what would be applied." xor:"act"`

	Functions     bool `help:"On PostgreSQL, also make the SQL functions (onceward_publish, onceward_send, …), or bring them up to date." xor:"act"`
	DropFunctions bool `help:"On PostgreSQL, drop the SQL functions." xor:"act"`
}

func (migrateCmd) Help() string {
	return examples("migrate --store sqlite:onceward.db --show", "migrate --store postgres://db.example.com/onceward", "migrate --store 'postgres://db.example.com/app?search_path=onceward' --functions")
}

func (c *migrateCmd) Run(ctx context.Context, out output) error {
	pending, err := onceward.Migrations(ctx, c.Store)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	names, steps := []string{}, []object{}
	for _, m := range pending {
		names = append(names, fmt.Sprintf("%04d %s", m.Version, m.Name))
		steps = append(steps, object{"version": m.Version, "name": m.Name})
	}
	if !c.JSON {
		for _, name := range names {
			fmt.Fprintln(out, name)
		}
	}
	functions := []string{}
	if c.Functions || c.DropFunctions {
		if functions, err = onceward.SQLFunctions(ctx, c.Store, c.Functions); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
	}
	applied := 0
	if len(pending) > 0 && !c.Show {
		p := startProgress(func(took time.Duration, _ int) string {
			return fmt.Sprintf("applying %d migrations, %v", len(pending), took)
		})
		err := onceward.Migrate(ctx, c.Store)
		p.stop()
		if err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		applied = len(pending)
	}
	if c.JSON {
		answer := object{"migrations": steps, "applied": applied}
		switch {
		case c.Functions:
			answer["functions_made"] = functions
		case c.DropFunctions:
			answer["functions_dropped"] = functions
		}
		return printJSON(out, answer)
	}
	switch {
	case c.Functions:
		fmt.Fprintf(out, "%d functions are there: docs/enqueue.md\n", len(functions))
	case c.DropFunctions:
		fmt.Fprintln(out, "the functions are dropped")
	}
	switch {
	case len(pending) == 0:
		_, err = fmt.Fprintln(out, "the store is up to date")
	case c.Show:
		_, err = fmt.Fprintf(out, "%d to apply\n", len(pending))
	default:
		_, err = fmt.Fprintf(out, "%d applied\n", applied)
	}
	return err
}
