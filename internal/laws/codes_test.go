package laws_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var codeLine = regexp.MustCompile(`(?m)^\t(\w+)\s+Code = ("[A-Z_]+")$`)

// The client imports nothing of the server, so the codes of the contract stand in it a second time: the same names, spelt the same.
func TestClientHasEveryCode(t *testing.T) {
	t.Parallel()
	codes := func(of ...string) (all []string) {
		text, err := os.ReadFile(filepath.Join(append([]string{root}, of...)...))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range codeLine.FindAllStringSubmatch(string(text), -1) {
			all = append(all, m[1]+" = "+m[2])
		}
		return all
	}
	server, client := codes("internal", "fault", "fault.go"), codes("client", "error.go")
	if len(server) < 20 || !slices.Equal(server, client) {
		t.Errorf("the server has the codes %v, the client %v", server, client)
	}
}
