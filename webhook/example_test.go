package webhook_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/onceward/onceward/webhook"
)

// A signature as a receiver gets it in the header webhook-signature.
func ExampleSign() {
	secret, err := webhook.ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(webhook.Sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`)))
	// Output: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=
}

// What a receiver does first with each request.
func ExampleVerify() {
	secret := "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	hook := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, webhook.MaxPayload))
		if err != nil {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		if err := webhook.Verify(r.Header, body, time.Now(), secret); err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		// Keep r.Header.Get("Idempotency-Key") with what is done, in one transaction: the same key may come again.
		w.WriteHeader(http.StatusNoContent)
	}
	http.HandleFunc("POST /hooks", hook)

	// What the sender makes of an event:
	raw, _ := webhook.ParseSecret(secret)
	now, body := time.Now(), []byte(`{"ticket":7}`)
	h := http.Header{}
	h.Set("webhook-id", "evt_1")
	h.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	h.Set("webhook-signature", webhook.Sign(raw, "evt_1", now, body))
	fmt.Println(webhook.Verify(h, body, now, secret))
	fmt.Println(webhook.Verify(h, []byte(`{"ticket":8}`), now, secret))
	fmt.Println(webhook.Verify(h, body, now.Add(time.Hour), secret))
	// Output:
	// <nil>
	// verify webhook: no signature matches the body
	// verify webhook: the webhook-timestamp is older than five minutes
}

// An endpoint from what a client said, and what is wrong with another.
func ExampleEndpointSpec_New() {
	sealer, err := webhook.NewSealer(bytes.Repeat([]byte{1}, 32)) // the server's key, of 32 secret bytes
	if err != nil {
		fmt.Println(err)
		return
	}
	rules := webhook.Rules{Sealer: sealer}

	spec := webhook.EndpointSpec{
		URL:        new("https://example.com/hooks"),
		Tenant:     new("acme"),
		EventTypes: &[]string{"ticket.*"},
	}
	e, secret, err := spec.New(1, rules)
	fmt.Println(e.URL, e.Timeout, len(e.Ladder), e.Subscribes("ticket.resolved"), secret[:6], err)

	spec.URL = new("http://169.254.169.254/latest/meta-data")
	_, _, err = spec.New(1, rules)
	fmt.Println(err)
	// Output:
	// https://example.com/hooks 15s 6 true whsec_ <nil>
	// url begins with http://; it must begin with https://
}

// The key that a receiver can tell a repeated delivery by.
func ExampleDeliveryKey() {
	fmt.Println(webhook.DeliveryKey("ep_1", "evt_1", 0))
	fmt.Println(webhook.DeliveryKey("ep_1", "evt_1", 2)) // the second send, which asked for a new key
	// Output:
	// 2cc84e5d2ab0d2685d3a1ac6572d894bc6ac9e3b6ca4b6ca9fc93727e2dbb22f
	// 8d2fd089bba719cb10cad6d39d96a8f72f065bd73e35c32ad8c74741d6473529
}
