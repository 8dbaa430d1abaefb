package client_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/client"
	"github.com/onceward/onceward/test/served"
)

const apiKey = "client-test-key-0123456789"

// serve runs a server on a SQLite file, before which a handler may stand, and gives a client of it.
func serve(t testing.TB, before func(http.Handler) http.Handler) *client.Client {
	t.Helper()
	web := served.Run(t, onceward.Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "onceward.db"), APIKey: apiKey, AllowPrivateNetworks: true}, func(h http.Handler) *httptest.Server {
		if before != nil {
			h = before(h)
		}
		return httptest.NewTestServer(t, h)
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
