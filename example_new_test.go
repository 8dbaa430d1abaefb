package onceward_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/onceward/onceward"
)

// A server inside a program: its API on any listener, its work in Run. The same event handed over twice is one event.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "onceward")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	ctx, stop := context.WithCancel(context.Background())
	s, err := onceward.New(ctx, onceward.Config{
		Store: "sqlite:" + filepath.Join(dir, "onceward.db"), APIKey: "a-key-of-16-or-more", AllowPrivateNetworks: true,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	api := httptest.NewServer(s.Handler())
	defer api.Close()

	arrived := make(chan string, 10)
	customer := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- fmt.Sprintf("%s %s", r.Header.Get("webhook-id"), body)
	}))
	defer customer.Close()

	post := func(path, body string) {
		r, _ := http.NewRequest("POST", api.URL+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer a-key-of-16-or-more")
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			panic(err)
		}
		resp.Body.Close()
		fmt.Println(path, resp.StatusCode, "replayed:", resp.Header.Get("Idempotent-Replayed") == "true")
	}
	post("/v1/webhooks/endpoints", `{"url":"`+customer.URL+`"}`)
	event := `{"event_id":"evt_7","event_type":"ticket.resolved","payload":{"ticket":7}}`
	post("/v1/webhooks/events", event)
	post("/v1/webhooks/events", event)
	fmt.Println(<-arrived)

	stop()
	fmt.Println(<-ran, "and", len(arrived), "more arrived")
	// Output:
	// /v1/webhooks/endpoints 200 replayed: false
	// /v1/webhooks/events 200 replayed: false
	// /v1/webhooks/events 200 replayed: true
	// evt_7 {"ticket":7}
	// <nil> and 0 more arrived
}
