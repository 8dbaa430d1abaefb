package laws_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// beforeRelease are migrations made before there was a release whose servers could run beside them.
var beforeRelease = map[string]bool{"0006_redrive.sql": true, "0007_group_tick.sql": true}

// slower are migrations that take away an index alone, which is not unique and which older servers' statements do without: they list and count a queue more slowly while they are there.
var slower = map[string]bool{"0015_queue_index.sql": true}

var takesAway = regexp.MustCompile(`(?i)\b(DROP\s+(TABLE|COLUMN|INDEX|FUNCTION|TRIGGER|SEQUENCE)|RENAME\s|SET\s+NOT\s+NULL|ALTER\s+(COLUMN\s+)?\w+\s+(SET\s+DATA\s+)?TYPE\b|TRUNCATE\b|DELETE\s+FROM)`)

// Servers of one release run beside the schema of the next (docs/adr/0007-old-beside-new.md): what a migration takes away, they still use.
func TestMigrationsOnlyAdd(t *testing.T) {
	t.Parallel()
	all, err := filepath.Glob("../../store/postgres/migrations/*.sql")
	if err != nil || len(all) == 0 {
		t.Fatalf("no migrations: %v", err)
	}
	for _, f := range all {
		sql, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if m := takesAway.Find(sql); m != nil && !beforeRelease[filepath.Base(f)] && !slower[filepath.Base(f)] {
			t.Errorf("%s has %q: servers of the last release may still run beside it; take it away one release after nothing uses it", filepath.Base(f), m)
		}
	}
}
