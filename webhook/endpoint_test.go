package webhook

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/ledger"
)

func TestSubscribes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		types []string
		event string
		want  bool
	}{
		{[]string{"*"}, "a", true},
		{[]string{"a"}, "a", true},
		{[]string{"a"}, "a.b", false},
		{[]string{"a.*"}, "a.b", true},
		{[]string{"a.*"}, "a.b.c", true},
		{[]string{"a.*"}, "a", false},
		{[]string{"a.*"}, "ab.c", false},
		{[]string{"a.*"}, "b.a.c", false},
		{[]string{"b", "a.b.*"}, "a.b.c", true},
		{nil, "a", false},
	} {
		if got := (&Endpoint{EventTypes: c.types}).Subscribes(c.event); got != c.want {
			t.Errorf("%v and %s: %v", c.types, c.event, got)
		}
	}
}

func TestStateOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		claim     ledger.State
		attempt   int
		cancelled bool
		want      State
	}{
		{ledger.New, 0, false, Pending},
		{ledger.Retry, 0, false, Pending}, // its only try was given back
		{ledger.Claimed, 1, false, Sending},
		{ledger.Started, 1, false, Sending},
		{ledger.Retry, 1, false, Retrying},
		{ledger.Done, 1, false, Delivered},
		{ledger.Failed, 7, false, Failed},
		{ledger.Stuck, 7, false, Stuck},
		{ledger.Failed, 0, true, Cancelled},
	} {
		if got := StateOf(c.claim, c.attempt, c.cancelled); got != c.want {
			t.Errorf("%s after %d: %s, want %s", c.claim, c.attempt, got, c.want)
		}
	}
}

func TestDeliveryKey(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range []string{DeliveryKey("ep_1", "evt_1", 0), DeliveryKey("ep_1", "evt_1", 1), DeliveryKey("ep_1", "evt_1", 2), DeliveryKey("ep_2", "evt_1", 0), DeliveryKey("ep_1", "evt_2", 0)} {
		if len(k) != 64 || strings.Trim(k, "0123456789abcdef") != "" || seen[k] {
			t.Errorf("key %q", k)
		}
		seen[k] = true
	}
}

// A URL that is taken can be sent to, and leads where it seems to.
func FuzzEndpointURL(f *testing.F) {
	for _, u := range []string{
		"https://example.com/a?b=c", "https://example.com:8443", "https://[2606:4700::1111]/", "https://127.1/", "https://0x7f.1/", "https://a@b@c/",
		"https://example.com\\@127.0.0.1/", "https://127.0.0.1#@example.com", "https:///x", "https://%31%32%37.0.0.1/", "https://[::ffff:7f00:1]/", "https://[fe80::1%25eth0]/",
	} {
		f.Add(u)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if err := checkURL(s, Rules{}); err != nil {
			return
		}
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
			t.Fatalf("%q was taken: %+v, %v", s, u, err)
		}
		// What a generous resolver takes for an address is one to us too, or refused. C's inet_aton is the most generous.
		if last := lastPart(u.Hostname()); last != "" && strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") && strings.Trim(last[2:], "0123456789abcdef") == "" {
			if ip, err := netip.ParseAddr(strings.TrimSuffix(u.Hostname(), ".")); err != nil || public.SafeAddr(ip) != nil {
				t.Fatalf("%q was taken, and some take %q for an address", s, u.Hostname())
			}
		}
		q, err := http.NewRequest(http.MethodPost, s, nil)
		if err != nil || q.URL.Host != u.Host {
			t.Fatalf("%q was taken and cannot be sent to: %v", s, err)
		}
	})
}

func lastPart(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return host[strings.LastIndex(host, ".")+1:]
}

func FuzzVerify(f *testing.F) {
	secret := NewSecret()
	raw, _ := ParseSecret(secret)
	now := time.Unix(1700000000, 0)
	good := Sign(raw, "evt_1", now, []byte("{}"))
	f.Add("evt_1", "1700000000", good, []byte("{}"))
	f.Add("evt_1", "", "v1, v1,A v1a,"+good, []byte{})
	f.Fuzz(func(t *testing.T, id, at, signatures string, body []byte) {
		h := http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {at}, "Webhook-Signature": {signatures}}
		if err := Verify(h, body, now, secret); err != nil {
			return
		}
		if id != "evt_1" || string(body) != "{}" || !strings.Contains(signatures, good) {
			t.Fatalf("verified %q at %q by %q over %q", id, at, signatures, body)
		}
	})
}
