// Package migrate reads a store's numbered migrations and says which are to be applied. Migrations go forward only; one
// that has landed is never edited. The store itself applies them, under a lock of its own.
package migrate

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Migration is one step of a schema: the file NNNN_name.sql.
type Migration struct {
	Version int
	Name    string
	SQL     string
}

// Load reads the migrations of dir, in order. Their numbers begin at 1 and have no gap.
func Load(fsys fs.FS, dir string) ([]Migration, error) {
	files, err := fs.Glob(fsys, path.Join(dir, "*.sql"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	out := make([]Migration, 0, len(files))
	for i, f := range files {
		number, name, _ := strings.Cut(strings.TrimSuffix(path.Base(f), ".sql"), "_")
		v, err := strconv.Atoi(number)
		if err != nil || v != i+1 {
			return nil, fmt.Errorf("migration %s: want number %04d", f, i+1)
		}
		b, err := fs.ReadFile(fsys, f)
		if err != nil {
			return nil, err
		}
		out = append(out, Migration{v, name, string(b)})
	}
	return out, nil
}

// NewerError says that a store was written by a later program.
type NewerError struct{ Store, Program int }

func (e *NewerError) Error() string {
	return fmt.Sprintf("the store has schema version %d, and this program knows versions up to %d: run a newer onceward", e.Store, e.Program)
}

// Pending gives what is to be applied to a store at version applied.
func Pending(all []Migration, applied int) ([]Migration, error) {
	if applied > len(all) {
		return nil, &NewerError{applied, len(all)}
	}
	return all[applied:], nil
}
