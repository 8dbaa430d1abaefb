package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// The store's functions in the database. Those of functions/ are the store's own and always there: PublishTx and SendTx call them. Those of
// functions/sql are for teams that write SQL, and are there if somebody asked for them (Functions).
//
//go:embed functions/*.sql functions/sql/*.sql
var functions embed.FS

// functionsVersion grows with every change of a function. A server of a later one replaces them at its start, an older one leaves them alone.
const functionsVersion = 2

// changedFunctions have other arguments or answers since the last version: the former ones are dropped, or both would stand side by side.
var changedFunctions = []string{"onceward_tx_publish", "onceward_tx_send", "onceward_send", "onceward_base62", "onceward_claim", "onceward_word", "onceward_complete", "onceward_fail"}

// The folders, each also the name in meta of the version of its functions that is installed.
const (
	ownFunctions = "functions"
	sqlFunctions = "functions/sql"
)

// guardFunctions makes functions of ours ($1) run as the store's owner, in the store's schema, read as they are written and with the plans of its statements, for nobody who was not
// told so by a GRANT. Those without access to tables need none of it.
const guardFunctions = `SELECT format('ALTER FUNCTION %1$s SECURITY DEFINER SET search_path = %2$I, pg_temp SET standard_conforming_strings = on SET enable_seqscan = off SET plan_cache_mode = force_generic_plan; REVOKE EXECUTE ON FUNCTION %1$s FROM PUBLIC', p.oid::regprocedure, current_schema())
FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace AND p.proname = ANY ($1) AND p.provolatile = 'v'`

// dropFunctions drops functions ($1), and grantFunctions lets those call them again who might: asked for before the drop, done after the making.
const (
	dropFunctions  = `SELECT format('DROP FUNCTION %s', p.oid::regprocedure) FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace AND p.proname = ANY ($1)`
	grantFunctions = `SELECT format('GRANT EXECUTE ON FUNCTION %I TO %s', p.proname, a.grantee::regrole) FROM pg_proc p, aclexplode(p.proacl) a
WHERE p.pronamespace = current_schema()::regnamespace AND p.proname = ANY ($1) AND a.grantee NOT IN (0, p.proowner)`
)

var schemaWantedSQL = stmt("schema_wanted")

// makeSchema makes the schema that the store's URL names (search_path=…), so that a store can stand in a database beside tables of others.
func (tx *txn) makeSchema(ctx context.Context) error {
	var name string
	if err := tx.QueryRow(ctx, schemaWantedSQL).Scan(&name); err != nil || name == "" || strings.HasPrefix(name, "$") {
		return err
	}
	_, err := tx.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{name}.Sanitize())
	return err
}

// Functions makes the SQL functions for teams that write SQL (wanted), or drops them, in the store at url, whose schema is brought up to date with it. Once
// they are made, each start of a server keeps them so. It answers their names.
func Functions(ctx context.Context, url string, wanted bool) ([]string, error) {
	db, err := Open(ctx, url, Options{})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	names, err := functionNames(sqlFunctions)
	if err != nil {
		return nil, err
	}
	err = db.in(ctx, func(ctx context.Context, tx *txn) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", migrateLock); err != nil {
			return err
		}
		if wanted {
			return tx.installFunctions(ctx, sqlFunctions)
		}
		if _, err := tx.Exec(ctx, "DROP FUNCTION IF EXISTS "+strings.Join(names, ", ")); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "DELETE FROM meta WHERE name = $1", sqlFunctions)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the store's SQL functions: %w", err)
	}
	return names, nil
}

var functionHead = regexp.MustCompile(`(?m)^CREATE OR REPLACE FUNCTION (\w+)`)

// functionNames gives the names of a folder's functions.
func functionNames(folder string) (names []string, err error) {
	files, err := fs.Glob(functions, folder+"/*.sql")
	for _, f := range files {
		text, err := fs.ReadFile(functions, f)
		if err != nil {
			return nil, err
		}
		for _, m := range functionHead.FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names, err
}

// keepFunctions brings the store's own functions up to date, and those for teams where they are installed.
func (tx *txn) keepFunctions(ctx context.Context) error {
	if err := tx.installFunctions(ctx, ownFunctions); err != nil {
		return err
	}
	var there bool
	if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM meta WHERE name = $1)", sqlFunctions).Scan(&there); err != nil || !there {
		return err
	}
	return tx.installFunctions(ctx, sqlFunctions)
}

// installFunctions makes a folder's functions, or replaces those of an earlier version. Who may call them stays as it is.
func (tx *txn) installFunctions(ctx context.Context, folder string) error {
	var version string
	err := tx.QueryRow(ctx, "SELECT coalesce((SELECT convert_from(value, 'UTF8') FROM meta WHERE name = $1), '0')", folder).Scan(&version)
	if err != nil {
		return err
	}
	if v, err := strconv.Atoi(version); err != nil || v >= functionsVersion {
		return err
	}
	names, err := functionNames(folder)
	if err != nil {
		return err
	}
	changed := slices.DeleteFunc(slices.Clone(changedFunctions), func(name string) bool { return !slices.Contains(names, name) })
	grants, err := tx.statements(ctx, grantFunctions, changed)
	if err == nil {
		err = tx.runAll(ctx, dropFunctions, changed)
	}
	if err != nil {
		return err
	}
	files, err := fs.Glob(functions, folder+"/*.sql")
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := fs.ReadFile(functions, f)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SET LOCAL check_function_bodies = off; "+string(text), pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
	}
	if err := tx.runAll(ctx, guardFunctions, names); err != nil {
		return err
	}
	if err := tx.execAll(ctx, grants); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "INSERT INTO meta (name, value) VALUES ($1, convert_to($2, 'UTF8')) ON CONFLICT (name) DO UPDATE SET value = excluded.value", folder, strconv.Itoa(functionsVersion))
	return err
}

// statements gives those that a query over functions of ours writes.
func (tx *txn) statements(ctx context.Context, query string, names []string) ([]string, error) {
	rows, err := tx.Query(ctx, query, names)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func (tx *txn) runAll(ctx context.Context, query string, names []string) error {
	all, err := tx.statements(ctx, query, names)
	if err != nil {
		return err
	}
	return tx.execAll(ctx, all)
}

func (tx *txn) execAll(ctx context.Context, statements []string) error {
	for _, s := range statements {
		if _, err := tx.Exec(ctx, s, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	return nil
}
