package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if os.Getenv(loopTo) != "" || os.Getenv(bareServer) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// The benchmark runs: each case of ours on both stores, and of those peers that need no other program, at a size that says nothing about speed.
func TestItRuns(t *testing.T) {
	s := settings{Rounds: 1, Jobs: 200, Seconds: 0.2, Callers: 8, Batch: 20, Size: 128, Rate: 100, Span: 0.2, Deliveries: 50, Cycles: 1000, Quiet: 1e9}
	who := []string{"onceward-postgres", "onceward-sqlite", inProcess + "sqlite", "bare-insert", "bare-http", "bare-post", "bare-post-apart", "goqite", "river"}
	dir := t.TempDir()
	out, page := filepath.Join(dir, "r.jsonl"), filepath.Join(dir, "page.md")
	text, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, text, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	if err := run(ctx, s, who, nil, out, page); err != nil {
		t.Fatal(err)
	}
	r, err := openResults(out)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	all, err := chosen(who)
	if err != nil {
		t.Fatal(err)
	}
	if d := left(s, all, cases(), r, 1); d != 0 || len(r.absent) > 0 {
		t.Errorf("%v are left to do; absent: %v", d, r.absent)
	}
	for _, f := range r.figures {
		if f.Rate <= 0 || f.CPU < 0 || f.Case == "start" && !(f.P50 > 0 && f.P50 <= f.P99 && f.P99 <= f.P999) {
			t.Errorf("%+v", f)
		}
	}
	lines := len(r.figures)
	if err := run(ctx, s, who, nil, out, page); err != nil { // goes on from where it is: there is nothing to do
		t.Fatal(err)
	}
	again, err := openResults(out)
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	if len(again.figures) != lines {
		t.Errorf("%d figures after it was done, %d before", len(again.figures), lines)
	}
}

func TestProfilesAreTaken(t *testing.T) {
	t.Cleanup(stopGrounds)
	m, err := lookInto(t.Context(), settings{Cycles: 2000}, "Publish/sqlite")
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, share := range m.Shares {
		sum += share
	}
	if sum < 0.98 || sum > 1.02 || m.Shares["SQLite"] == 0 {
		t.Errorf("%+v", m.Shares)
	}
}

// A peer that fails costs its own figures alone, and the run says so.
func TestOneThatFailsStopsNone(t *testing.T) {
	t.Chdir(t.TempDir()) // where there is no source to build our server from
	err := run(t.Context(), settings{Rounds: 1, Seconds: 0.1, Callers: 4, Batch: 10, Size: 128, Quiet: 1e9, Deliveries: 1}, []string{"onceward-sqlite", "bare-post"}, []string{"deliver"}, "r.jsonl", "")
	if err == nil || !strings.Contains(err.Error(), "onceward-sqlite") {
		t.Errorf("%v", err)
	}
	r, err := openResults("r.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	if len(r.figures) != 1 || r.figures[0].Peer != "bare-post" {
		t.Errorf("%+v", r.figures)
	}
}
