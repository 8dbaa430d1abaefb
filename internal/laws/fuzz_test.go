package laws_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A fuzz target without seeds runs nothing in make test, and begins from nothing in make fuzz. So each adds some in its own text; a folder of them
// can go without anybody's notice. And make fuzz runs each.
func TestEveryFuzzTargetHasSeeds(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), "grep -l '^func Fuzz'") {
		t.Error("make fuzz looks for no fuzz targets")
	}
	found := 0
	for _, f := range files(t) {
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !f.test || !strings.HasPrefix(fn.Name.Name, "Fuzz") {
				continue
			}
			found++
			seeds := false
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok {
					if s, ok := c.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Add" && len(c.Args) > 0 {
						x, _ := s.X.(*ast.Ident)
						seeds = seeds || x != nil && x.Name == "f"
					}
				}
				return true
			})
			if !seeds {
				t.Errorf("%s: %s adds no seeds", f.path, fn.Name.Name)
			}
		}
	}
	if found < 13 {
		t.Errorf("only %d fuzz targets found", found)
	}
}
