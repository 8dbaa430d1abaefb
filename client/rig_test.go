package client_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/client"
)

const apiKey = "client-test-key-0123456789"

// serve runs a server on a SQLite file, before which a handler may stand, and gives a client of it.
func serve(t testing.TB, before func(http.Handler) http.Handler) *client.Client {
	t.Helper()
	s, err := onceward.New(t.Context(), onceward.Config{
		Store: "sqlite:" + filepath.Join(t.TempDir(), "onceward.db"), APIKey: apiKey, AllowPrivateNetworks: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	h := s.Handler()
	if before != nil {
		h = before(h)
	}
	web := httptest.NewTestServer(t, h)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ran; err != nil {
			t.Errorf("run: %v", err)
		}
		web.Close()
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	c, err := client.New(client.Config{URL: "http://onceward.example", APIKey: apiKey, HTTP: web.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// do fails the test where a call did.
func do[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// all collects a list.
func all[T any](t testing.TB, list func(func(T, error) bool)) (out []T) {
	t.Helper()
	for v, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}
