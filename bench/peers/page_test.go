package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

const pagePath = "../../docs/performance.md"

// What the page's tables and plots say is what its results file says.
func TestThePageIsWhatTheFileSays(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	m := source.FindSubmatch(text)
	if m == nil {
		t.Fatalf("%s names no results file", pagePath)
	}
	r, err := openResults("")
	if err != nil {
		t.Fatal(err)
	}
	from := string(m[1]) // "" until there is one
	if from != "" {
		from = filepath.Join(filepath.Dir(pagePath), from)
		if err := r.read(from); err != nil {
			t.Fatal(err)
		}
		if len(r.figures) == 0 {
			t.Fatalf("%s has no figures", from)
		}
	}
	want, err := fill(pagePath, text, r)
	if err != nil {
		t.Fatal(err)
	}
	const remedy = "cd bench/peers && go run . -rounds 0 -o FILE -page ../../docs/performance.md makes it anew"
	if !bytes.Equal(text, want) {
		t.Errorf("%s is not what %s says: %s", pagePath, from, remedy)
	}
	if n := len(region.FindAll(text, -1)); n < 12 {
		t.Errorf("%s has %d regions, not those of all cases", pagePath, n)
	}
	if from == "" {
		return
	}
	for name, plot := range r.plots() {
		path := filepath.Join(filepath.Dir(from), name)
		if drawn, err := os.ReadFile(path); err != nil || string(drawn) != plot {
			t.Errorf("%s is not what %s says (%v): %s", path, from, err, remedy)
		}
	}
}
