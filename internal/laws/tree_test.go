package laws_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/onceward/onceward"

// file is a Go file of the repository.
type file struct {
	path  string // from the root, with slashes
	room  string // its folder; "." is the root
	test  bool
	lines int
	text  string
	ast   *ast.File
}

// imports gives what the file imports: of this module the folder with a leading slash ("/" is the root), else the path.
func (f *file) imports() []string {
	var out []string
	for _, s := range f.ast.Imports {
		p, _ := strconv.Unquote(s.Path.Value)
		if rest, ok := strings.CutPrefix(p, module); ok {
			p = "/" + strings.TrimPrefix(rest, "/")
		}
		out = append(out, p)
	}
	return out
}

const root = "../.."

var tree = sync.OnceValues(func() ([]*file, error) {
	var out []*file
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if p != root && (strings.HasPrefix(name, ".") || name == "bin" || name == "tmp" || name == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		a, err := parser.ParseFile(token.NewFileSet(), p, b, parser.ParseComments)
		if err != nil {
			return err
		}
		out = append(out, &file{rel, path.Dir(rel), strings.HasSuffix(name, "_test.go"), bytes.Count(b, []byte("\n")), string(b), a})
		return nil
	})
	return out, err
})

func files(t *testing.T) []*file {
	t.Helper()
	all, err := tree()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d Go files found: the laws look in the wrong place", len(all))
	}
	return all
}

func under(room, folder string) bool { return room == folder || strings.HasPrefix(room, folder+"/") }
