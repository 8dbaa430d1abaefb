package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// The store's functions in the database, which PublishTx and SendTx call.
//
//go:embed functions/*.sql
var functions embed.FS

// functionsVersion grows with every change of a function. A server of a later one replaces them at its start, an older one leaves them alone.
const functionsVersion = 1

// ownFunctions is the folder of the store's own, and the name in meta of their version.
const ownFunctions = "functions"

// guardFunctions makes a folder's functions run as the store's owner, in the store's schema and with the plans of its statements, for nobody who was not
// told so by a GRANT. Those without access to tables need none of it.
const guardFunctions = `DO $do$
DECLARE f record;
BEGIN
  FOR f IN SELECT p.oid::regprocedure AS name FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace AND p.proname LIKE 'onceward\_%' AND p.provolatile = 'v'
  LOOP
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp SET enable_seqscan = off SET plan_cache_mode = force_generic_plan', f.name, current_schema());
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f.name);
  END LOOP;
END $do$`

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
	if _, err := tx.Exec(ctx, guardFunctions, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "INSERT INTO meta (name, value) VALUES ($1, convert_to($2, 'UTF8')) ON CONFLICT (name) DO UPDATE SET value = excluded.value", folder, strconv.Itoa(functionsVersion))
	return err
}
