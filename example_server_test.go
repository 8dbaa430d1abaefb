package onceward_test

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/onceward/onceward"
)

const exampleKey = "a-key-of-16-or-more"

// open gives a server on a store of its own for an example, and what ends it.
func open() (*onceward.Server, func()) {
	dir, err := os.MkdirTemp("", "onceward")
	if err != nil {
		panic(err)
	}
	s, err := onceward.New(context.Background(), onceward.Config{
		Store: "sqlite:" + filepath.Join(dir, "onceward.db"), APIKey: exampleKey, AllowPrivateNetworks: true,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	return s, func() {
		s.Close()
		os.RemoveAll(dir)
	}
}

// run has s do its work, until what it returns is called.
func run(s *onceward.Server) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error)
	go func() { ran <- s.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ran; err != nil {
			panic(err)
		}
	}
}

// answer is the envelope of every answer.
type answer[T any] struct {
	Data     T
	Error    *struct{ Code string }
	Metadata struct {
		Replay bool `json:"idempotent_replay"`
	}
}

// post calls the API of s within the program: no listener is needed for that.
func post[T any](s *onceward.Server, path, body string) answer[T] {
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+exampleKey)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	var a answer[T]
	if err := json.Unmarshal(w.Body.Bytes(), &a, json.MatchCaseInsensitiveNames(true)); err != nil {
		panic(err)
	}
	return a
}

// message is what these examples look at of a message.
type message struct {
	ID      string            `json:"message_id"`
	Receipt string            `json:"receipt_handle"`
	Count   int               `json:"delivery_count"`
	Body    struct{ Job int } `json:"payload"`
}

// consume receives one message of the queue jobs, waiting for it if there is none; false if none comes.
func consume(s *onceward.Server, wait int) (message, bool) {
	a := post[struct{ Items []message }](s, "/v1/queue/consume", fmt.Sprintf(`{"queue":"jobs","wait_seconds":%d}`, wait))
	if len(a.Data.Items) == 0 {
		return message{}, false
	}
	return a.Data.Items[0], true
}
