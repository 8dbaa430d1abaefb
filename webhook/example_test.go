package webhook_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
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
	hooks := http.NewServeMux()
	hooks.HandleFunc("POST /hooks", func(w http.ResponseWriter, r *http.Request) {
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
		io.WriteString(w, "taken")
	})

	// What the sender makes of an event, and what others may try with it.
	send := func(signed string, at time.Time, body string) {
		raw, _ := webhook.ParseSecret(secret)
		r := httptest.NewRequest("POST", "/hooks", strings.NewReader(body))
		r.Header.Set("webhook-id", "evt_1")
		r.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
		r.Header.Set("webhook-signature", webhook.Sign(raw, "evt_1", at, []byte(signed)))
		w := httptest.NewRecorder()
		hooks.ServeHTTP(w, r)
		fmt.Println(w.Code, strings.TrimSpace(w.Body.String()))
	}
	send(`{"ticket":7}`, time.Now(), `{"ticket":7}`)
	send(`{"ticket":7}`, time.Now(), `{"ticket":8}`)
	send(`{"ticket":7}`, time.Now().Add(-time.Hour), `{"ticket":7}`)
	// Output:
	// 200 taken
	// 401 verify webhook: no signature matches the body
	// 401 verify webhook: the webhook-timestamp is older than five minutes
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
