package sqlite

import (
	"errors"
	"fmt"

	"github.com/onceward/onceward/internal/migrate"
)

// migrate brings the schema up to date, all steps in one transaction. The version is SQLite's user_version.
func (db *DB) migrate() (err error) {
	s := db.writer
	var version, app, tables int
	if err := s.row("PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if err := s.row("PRAGMA application_id").Scan(&app); err != nil {
		return err
	}
	if err := s.row("SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
		return err
	}
	if tables > 0 && app != applicationID {
		return errors.New("the file is a SQLite database of another program")
	}
	all, err := migrate.Load(migrations, "migrations")
	if err != nil {
		return err
	}
	pending, err := migrate.Pending(all, version)
	if err != nil || len(pending) == 0 {
		return err
	}
	if _, err := s.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.run("ROLLBACK")
		}
	}()
	for _, m := range pending {
		if err := s.script(m.SQL); err != nil {
			return fmt.Errorf("migration %04d_%s: %w", m.Version, m.Name, err)
		}
	}
	for _, p := range []string{fmt.Sprintf("PRAGMA application_id = %d", applicationID), fmt.Sprintf("PRAGMA user_version = %d", len(all)), "COMMIT"} {
		if err := s.run(p); err != nil {
			return err
		}
	}
	return nil
}
