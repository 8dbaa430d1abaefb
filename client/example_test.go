package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/client"
)

// running gives a client of a server that runs for an example, and what ends it.
func running() (*client.Client, func()) {
	dir, err := os.MkdirTemp("", "onceward")
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s, err := onceward.New(ctx, onceward.Config{
		Store: "sqlite:" + filepath.Join(dir, "onceward.db"), APIKey: apiKey, AllowPrivateNetworks: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	ran := make(chan error)
	go func() { ran <- s.Run(ctx) }()
	web := httptest.NewServer(s.Handler())
	c, err := client.New(client.Config{URL: web.URL, APIKey: apiKey})
	if err != nil {
		panic(err)
	}
	return c, func() {
		stop()
		<-ran
		web.Close()
		c.HTTP.CloseIdleConnections()
		s.Close()
		os.RemoveAll(dir)
	}
}

// The same key is the same message, whoever publishes again and why.
func ExampleClient_Publish() {
	c, end := running()
	defer end()
	ctx := context.Background()
	c.CreateQueue(ctx, client.NewQueue{Name: "jobs"})

	type job struct{ Order int }
	first, err := c.Publish(ctx, "jobs", client.NewMessage{Payload: job{7}, Key: "order-7"})
	if err != nil {
		panic(err)
	}
	again, _ := c.Publish(ctx, "jobs", client.NewMessage{Payload: job{7}, Key: "order-7"})
	fmt.Println("the same message:", again.MessageID == first.MessageID, "replayed:", again.Replayed)

	_, err = c.Publish(ctx, "jobs", client.NewMessage{Payload: job{8}, Key: "order-7"})
	fmt.Println("another job under the key is refused:", errors.Is(err, client.IdempotencyKeyReused))
	// Output:
	// the same message: true replayed: true
	// another job under the key is refused: true
}

// What a handler returns settles its message. The loop extends its lease while it works, and a stop breaks nothing off.
func ExampleConsumer() {
	c, end := running()
	defer end()
	ctx, stop := context.WithCancel(context.Background())
	c.CreateQueue(ctx, client.NewQueue{Name: "jobs"})
	c.Publish(ctx, "jobs", client.NewMessage{Payload: "print the label"})

	err := client.Consumer{Client: c, Queue: "jobs", Handle: func(ctx context.Context, m *client.Message) error {
		var what string
		if err := m.Decode(&what); err != nil {
			return client.DeadLetter(err) // no other try can go better
		}
		if m.DeliveryCount == 1 {
			return client.RetryIn(10*time.Millisecond, errors.New("the printer is out of paper"))
		}
		fmt.Println(what, "at receive", m.DeliveryCount)
		stop()
		return nil // acked
	}}.Run(ctx)
	s, _ := c.QueueStats(context.Background(), "jobs")
	fmt.Println(err, "and", s.Messages, "messages are left")
	// Output:
	// print the label at receive 2
	// <nil> and 0 messages are left
}

// The server's ledger tells a worker what already happened: of two messages of one work the first is done, and the second is only acked. The work and its message
// are settled in one transaction, so the handler leaves the message alone.
func ExampleClient_Claim() {
	c, end := running()
	defer end()
	ctx, stop := context.WithCancel(context.Background())
	c.CreateQueue(ctx, client.NewQueue{Name: "mails"})
	for range 2 { // an error of whoever publishes: two messages, each with its own id
		c.Publish(ctx, "mails", client.NewMessage{Payload: "receipt 7"})
	}

	seen := 0
	handle := func(ctx context.Context, m *client.Message) error {
		if seen++; seen == 2 {
			defer stop()
		}
		v, err := c.Claim(ctx, client.NewClaim{Scope: "mail", Payload: m.Payload, Policy: client.Once, Queue: m.Queue, Receipt: m.Receipt})
		switch {
		case err != nil:
			return err
		case v.Verdict == client.KeyDone:
			fmt.Println("known: only acked")
			return nil
		case v.Verdict == client.Busy:
			return client.GiveBack(v.RetryAfter)
		case v.Verdict != client.Granted:
			return client.DeadLetter(errors.New(v.Reason))
		}
		held := client.Held{Scope: "mail", Key: v.Key, Fence: v.Fence}
		if w, err := c.Begin(ctx, held, time.Minute); err != nil || !w.Applied {
			return client.Leave(err) // another worker's by now
		}
		fmt.Println("sent:", string(m.Payload))
		_, err = c.Complete(ctx, held, nil, true)
		return client.Leave(err) // settled with its key; where that is not known the message comes again, and its key is done
	}
	err := client.Consumer{Client: c, Queue: "mails", Concurrency: 1, Handle: handle, Logger: slog.New(slog.DiscardHandler)}.Run(ctx)
	s, _ := c.QueueStats(context.Background(), "mails")
	fmt.Println(err, "and", s.Messages, "messages are left")
	// Output:
	// sent: "receipt 7"
	// known: only acked
	// <nil> and 0 messages are left
}

// An event goes, signed, to every endpoint that subscribed to it.
func ExampleClient_SendEvent() {
	c, end := running()
	defer end()
	ctx := context.Background()
	customer := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Printf("%s: %s\n", r.Header.Get("webhook-id"), b)
	}))
	defer customer.Close()
	e, err := c.CreateEndpoint(ctx, client.NewEndpoint{EndpointSettings: client.EndpointSettings{URL: customer.URL, EventTypes: []string{"ticket.*"}}})
	if err != nil {
		panic(err)
	}
	fmt.Println("a secret to give to the customer:", e.Secret != "")

	sent, err := c.SendEvent(ctx, client.NewEvent{ID: "evt_7", Type: "ticket.resolved", Payload: map[string]int{"ticket": 7}})
	if err != nil {
		panic(err)
	}
	for {
		d, err := c.Delivery(ctx, sent.Deliveries[0].DeliveryID)
		if err != nil {
			panic(err)
		}
		if d.State == client.Delivered {
			fmt.Println(d.State, "at attempt", len(d.Attempts))
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	// Output:
	// a secret to give to the customer: true
	// evt_7: {"ticket":7}
	// delivered at attempt 1
}

// A list asks for page after page while somebody looks.
func ExampleClient_Messages() {
	c, end := running()
	defer end()
	ctx := context.Background()
	c.CreateQueue(ctx, client.NewQueue{Name: "jobs"})
	for i := range 3 {
		c.Publish(ctx, "jobs", client.NewMessage{Payload: i})
	}
	for m, err := range c.Messages(ctx, "jobs", client.Available) {
		if err != nil {
			panic(err)
		}
		fmt.Println(string(m.Payload))
	}
	// Output:
	// 0
	// 1
	// 2
}
