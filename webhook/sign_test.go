package webhook_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"pgregory.net/rapid"

	"github.com/onceward/onceward/webhook"
)

// The vector that the Standard Webhooks libraries share, and ours.
func TestSignVectors(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		secret, id string
		at         int64
		body, want string
	}{
		{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, `{"test": 2432232314}`, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
	} {
		secret, err := webhook.ParseSecret(v.secret)
		if err != nil {
			t.Fatal(err)
		}
		if got := webhook.Sign(secret, v.id, time.Unix(v.at, 0), []byte(v.body)); got != v.want {
			t.Errorf("%s, want %s", got, v.want)
		}
	}
}

// TestAsTheOfficialLibrary: what we sign it verifies, what it signs we verify, over all inputs.
func TestAsTheOfficialLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfN(rapid.Byte(), 24, 64).Draw(t, "secret")
		id := rapid.StringMatching(`[A-Za-z0-9_-]{1,255}`).Draw(t, "id")
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		text := base64.StdEncoding.EncodeToString(raw)
		if rapid.Bool().Draw(t, "prefix") {
			text = "whsec_" + text
		}
		theirs, err := standardwebhooks.NewWebhook(text)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now().Truncate(time.Second)
		want, err := theirs.Sign(id, now, body)
		if err != nil {
			t.Fatal(err)
		}
		got := webhook.Sign(raw, id, now, body)
		if got != want {
			t.Fatalf("we sign %s, they %s", got, want)
		}
		h := http.Header{}
		h.Set("webhook-id", id)
		h.Set("webhook-timestamp", fmt.Sprint(now.Unix()))
		h.Set("webhook-signature", "v1,bm90IHRoaXMgb25l "+got)
		if err := theirs.Verify(body, h); err != nil {
			t.Fatal(err)
		}
		if err := webhook.Verify(h, body, now, text); err != nil {
			t.Fatal(err)
		}
	})
}

func TestVerify(t *testing.T) {
	t.Parallel()
	one, two := webhook.NewSecret(), webhook.NewSecret()
	now := time.Unix(1700000000, 0)
	body := []byte(`{"b":1, "a":2}`)
	sign := func(secrets ...string) string {
		var out []string
		for _, s := range secrets {
			raw, err := webhook.ParseSecret(s)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, webhook.Sign(raw, "evt_1", now, body))
		}
		return strings.Join(out, " ")
	}
	good := map[string]string{"webhook-id": "evt_1", "webhook-timestamp": "1700000000", "webhook-signature": sign(one)}
	for name, c := range map[string]struct {
		header  map[string]string
		body    []byte
		at      time.Time
		secrets []string
		want    error
	}{
		"good":                       {secrets: []string{one}},
		"without whsec_":             {secrets: []string{strings.TrimPrefix(one, "whsec_")}},
		"two secrets, the second":    {secrets: []string{two, one}},
		"two signatures, the second": {header: map[string]string{"webhook-signature": sign(two, one)}, secrets: []string{one}},
		"another version before":     {header: map[string]string{"webhook-signature": "v1a,AAAA v2,BBBB " + sign(one)}, secrets: []string{one}},
		"five minutes old":           {at: now.Add(5 * time.Minute), secrets: []string{one}},
		"five minutes ahead":         {at: now.Add(-5 * time.Minute), secrets: []string{one}},
		"older":                      {at: now.Add(5*time.Minute + 1), secrets: []string{one}, want: webhook.ErrTooOld},
		"newer":                      {at: now.Add(-5*time.Minute - 1), secrets: []string{one}, want: webhook.ErrTooNew},
		"another secret":             {secrets: []string{two}, want: webhook.ErrBadSignature},
		"another body":               {body: []byte(`{"a":2, "b":1}`), secrets: []string{one}, want: webhook.ErrBadSignature},
		"an empty body":              {body: []byte{}, secrets: []string{one}, want: webhook.ErrBadSignature},
		"another id":                 {header: map[string]string{"webhook-id": "evt_2"}, secrets: []string{one}, want: webhook.ErrBadSignature},
		"another second":             {header: map[string]string{"webhook-timestamp": "1700000001"}, secrets: []string{one}, want: webhook.ErrBadSignature},
		"another version":            {header: map[string]string{"webhook-signature": strings.Replace(sign(one), "v1,", "v2,", 1)}, secrets: []string{one}, want: webhook.ErrBadSignature},
		"no base64":                  {header: map[string]string{"webhook-signature": "v1,!!"}, secrets: []string{one}, want: webhook.ErrBadSignature},
		"no id":                      {header: map[string]string{"webhook-id": ""}, secrets: []string{one}, want: webhook.ErrUnsigned},
		"no signature":               {header: map[string]string{"webhook-signature": ""}, secrets: []string{one}, want: webhook.ErrUnsigned},
		"no time":                    {header: map[string]string{"webhook-timestamp": ""}, secrets: []string{one}, want: webhook.ErrUnsigned},
		"a date":                     {header: map[string]string{"webhook-timestamp": "2023-11-14T22:13:20Z"}, secrets: []string{one}, want: webhook.ErrUnsigned},
		"a time without end":         {header: map[string]string{"webhook-timestamp": "9223372036854775807"}, secrets: []string{one}, want: webhook.ErrUnsigned},
		"a time before all":          {header: map[string]string{"webhook-timestamp": "-9223372036854775808"}, secrets: []string{one}, want: webhook.ErrUnsigned},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			for k, v := range good {
				h.Set(k, v)
			}
			for k, v := range c.header {
				h.Set(k, v)
			}
			if c.body == nil {
				c.body = bytes.Clone(body)
			}
			if c.at.IsZero() {
				c.at = now
			}
			if err := webhook.Verify(h, c.body, c.at, c.secrets...); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	h := http.Header{"Webhook-Id": {"a"}, "Webhook-Timestamp": {"1700000000"}, "Webhook-Signature": {"v1,AAAA"}}
	if err := webhook.Verify(h, nil, now); err == nil {
		t.Error("verified without a secret")
	}
	if err := webhook.Verify(h, nil, now, "whsec_short"); err == nil {
		t.Error("verified with a bad secret")
	}
}
