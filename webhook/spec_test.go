package webhook

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
)

func rules(t testing.TB) Rules {
	s, err := NewSealer(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return Rules{Sealer: s}
}

// badField asserts that err is a bad argument of the field.
func badField(t *testing.T, err error, field string) {
	t.Helper()
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Field != field || e.Message == "" {
		t.Errorf("got %+v, want a fault of %s", err, field)
	}
}

func TestEndpointDefaults(t *testing.T) {
	t.Parallel()
	e, secret, err := EndpointSpec{URL: new("https://example.com/hooks")}.New(7, rules(t))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := ParseSecret(secret)
	if err != nil || !strings.HasPrefix(secret, "whsec_") || len(raw) < 24 {
		t.Errorf("secret %q: %v", secret, err)
	}
	opened, err := rules(t).Sealer.Open(7, e.Secrets[0].Sealed)
	if err != nil || !bytes.Equal(opened, raw) {
		t.Errorf("opened %q, %v", opened, err)
	}
	e.Secrets = nil
	want := Endpoint{
		Project: 7, URL: "https://example.com/hooks", EventTypes: []string{"*"}, Timeout: 15 * time.Second, Retry4xx: true,
		Ladder: []time.Duration{30e9, 120e9, 600e9, 3600e9, 21600e9, 86400e9}, Policy: "idempotent", MaxInFlight: 10,
	}
	if d := cmp.Diff(want, e); d != "" {
		t.Error(d)
	}
}

func TestEndpointChecks(t *testing.T) {
	t.Parallel()
	many := func(n int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m["X-"+strings.Repeat("a", i+1)] = "v"
		}
		return m
	}
	for name, c := range map[string]struct {
		s     EndpointSpec
		field string
	}{
		"http":                   {EndpointSpec{URL: new("http://example.com")}, "/url"},
		"no scheme":              {EndpointSpec{URL: new("example.com/hooks")}, "/url"},
		"another scheme":         {EndpointSpec{URL: new("ftp://example.com")}, "/url"},
		"no host":                {EndpointSpec{URL: new("https:///hooks")}, "/url"},
		"only a port":            {EndpointSpec{URL: new("https://:443/hooks")}, "/url"},
		"no url":                 {EndpointSpec{URL: new("")}, "/url"},
		"opaque":                 {EndpointSpec{URL: new("https:example.com")}, "/url"},
		"user":                   {EndpointSpec{URL: new("https://a:b@example.com")}, "/url"},
		"fragment":               {EndpointSpec{URL: new("https://example.com/#a")}, "/url"},
		"empty fragment":         {EndpointSpec{URL: new("https://example.com/#")}, "/url"},
		"space":                  {EndpointSpec{URL: new("https://example.com/a b")}, "/url"},
		"line":                   {EndpointSpec{URL: new("https://example.com/\r\nX: y")}, "/url"},
		"port 0":                 {EndpointSpec{URL: new("https://example.com:0")}, "/url"},
		"port 65536":             {EndpointSpec{URL: new("https://example.com:65536")}, "/url"},
		"empty port":             {EndpointSpec{URL: new("https://example.com:")}, "/url"},
		"long":                   {EndpointSpec{URL: new("https://example.com/" + strings.Repeat("a", 2048))}, "/url"},
		"loopback":               {EndpointSpec{URL: new("https://127.0.0.1/")}, "/url"},
		"localhost":              {EndpointSpec{URL: new("https://LocalHost./")}, "/url"},
		"sub.localhost":          {EndpointSpec{URL: new("https://a.localhost/")}, "/url"},
		"private":                {EndpointSpec{URL: new("https://10.1.2.3/")}, "/url"},
		"metadata":               {EndpointSpec{URL: new("https://169.254.169.254/")}, "/url"},
		"v6 loopback":            {EndpointSpec{URL: new("https://[::1]/")}, "/url"},
		"v4 in v6":               {EndpointSpec{URL: new("https://[::ffff:10.0.0.1]/")}, "/url"},
		"nat64":                  {EndpointSpec{URL: new("https://[64:ff9b::a00:1]/")}, "/url"},
		"hexadecimal":            {EndpointSpec{URL: new("https://0x7f.1/")}, "/url"},
		"hexadecimal in all":     {EndpointSpec{URL: new("https://0X7F000001/")}, "/url"},
		"only 0x":                {EndpointSpec{URL: new("https://a.0x/")}, "/url"},
		"decimal":                {EndpointSpec{URL: new("https://2130706433/")}, "/url"},
		"octal":                  {EndpointSpec{URL: new("https://0177.0.0.1/")}, "/url"},
		"short":                  {EndpointSpec{URL: new("https://127.1./")}, "/url"},
		"a number at its end":    {EndpointSpec{URL: new("https://example.1/")}, "/url"},
		"five numbers":           {EndpointSpec{URL: new("https://1.1.1.1.1/")}, "/url"},
		"a zone":                 {EndpointSpec{URL: new("https://[fe80::1%25eth0]/")}, "/url"},
		"a zone of a public one": {EndpointSpec{URL: new("https://[2606:4700::1111%25eth0]/")}, "/url"},
		"escaped":                {EndpointSpec{URL: new("https://%31%32%37.0.0.1/")}, "/url"},
		"a host's second at":     {EndpointSpec{URL: new("https://example.com@127.0.0.1/")}, "/url"},
		"tenant":                 {EndpointSpec{Tenant: new("a:b")}, "/tenant"},
		"long tenant":            {EndpointSpec{Tenant: new(strings.Repeat("a", 129))}, "/tenant"},
		"description":            {EndpointSpec{Description: new(strings.Repeat("a", 1025))}, "/description"},
		"no types":               {EndpointSpec{EventTypes: &[]string{}}, "/event_types"},
		"101 types":              {EndpointSpec{EventTypes: new(make([]string, 101))}, "/event_types"},
		"empty type":             {EndpointSpec{EventTypes: &[]string{"a", ""}}, "/event_types/1"},
		"wild in the middle":     {EndpointSpec{EventTypes: &[]string{"a.*.b"}}, "/event_types/0"},
		"wild without a dot":     {EndpointSpec{EventTypes: &[]string{"a*"}}, "/event_types/0"},
		"wild alone with a dot":  {EndpointSpec{EventTypes: &[]string{".*"}}, "/event_types/0"},
		"21 headers":             {EndpointSpec{Headers: new(many(21))}, "/headers"},
		"8 KiB of headers":       {EndpointSpec{Headers: &map[string]string{"X-A": strings.Repeat("a", 8<<10)}}, "/headers"},
		"host":                   {EndpointSpec{Headers: &map[string]string{"Host": "a"}}, "/headers/Host"},
		"content-type":           {EndpointSpec{Headers: &map[string]string{"content-type": "a"}}, "/headers/content-type"},
		"webhook-id":             {EndpointSpec{Headers: &map[string]string{"Webhook-Id": "a"}}, "/headers/Webhook-Id"},
		"idempotency-key":        {EndpointSpec{Headers: &map[string]string{"IDEMPOTENCY-KEY": "a"}}, "/headers/IDEMPOTENCY-KEY"},
		"connection":             {EndpointSpec{Headers: &map[string]string{"Connection": "close"}}, "/headers/Connection"},
		"transfer-encoding":      {EndpointSpec{Headers: &map[string]string{"Transfer-Encoding": "chunked"}}, "/headers/Transfer-Encoding"},
		"header name":            {EndpointSpec{Headers: &map[string]string{"X A": "v"}}, "/headers/X A"},
		"header name's pointer":  {EndpointSpec{Headers: &map[string]string{"a/b~c": "v"}}, "/headers/a~1b~0c"},
		"no header name":         {EndpointSpec{Headers: &map[string]string{"": "v"}}, "/headers/"},
		"a header's second line": {EndpointSpec{Headers: &map[string]string{"X-A": "v\r\nX-B: w"}}, "/headers/X-A"},
		"a header's space":       {EndpointSpec{Headers: &map[string]string{"X-A": " v"}}, "/headers/X-A"},
		"twice":                  {EndpointSpec{Headers: &map[string]string{"X-A": "v", "x-a": "w"}}, "/headers/x-a"},
		"raw secret":             {EndpointSpec{Secret: new(strings.Repeat("a", 32))}, "/secret"},
		"short secret":           {EndpointSpec{Secret: new("whsec_AAAA")}, "/secret"},
		"long secret":            {EndpointSpec{Secret: new("whsec_" + strings.Repeat("AAAA", 22))}, "/secret"},
		"no base64":              {EndpointSpec{Secret: new("whsec_" + strings.Repeat("!", 32))}, "/secret"},
		"timeout 0.5":            {EndpointSpec{Timeout: new(500 * time.Millisecond)}, "/timeout_seconds"},
		"timeout 31":             {EndpointSpec{Timeout: new(31 * time.Second)}, "/timeout_seconds"},
		"21 rungs":               {EndpointSpec{Ladder: new(make([]time.Duration, 21))}, "/retry_ladder"},
		"rung 0":                 {EndpointSpec{Ladder: &[]time.Duration{time.Second, 0}}, "/retry_ladder/1"},
		"rung over a week":       {EndpointSpec{Ladder: &[]time.Duration{8 * 24 * time.Hour}}, "/retry_ladder/0"},
		"policy":                 {EndpointSpec{Policy: new(ledger.Policy("tx"))}, "/policy"},
		"window 0":               {EndpointSpec{Window: new(time.Duration(0))}, "/receiver_window_seconds"},
		"in flight 0":            {EndpointSpec{MaxInFlight: new(0)}, "/max_in_flight"},
		"in flight 1001":         {EndpointSpec{MaxInFlight: new(1001)}, "/max_in_flight"},
		"rate 0":                 {EndpointSpec{Rate: new(0.0)}, "/rate_per_second"},
		"rate NaN":               {EndpointSpec{Rate: new(math.NaN())}, "/rate_per_second"},
		"rate without end":       {EndpointSpec{Rate: new(math.Inf(1))}, "/rate_per_second"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.s.URL == nil {
				c.s.URL = new("https://example.com")
			}
			_, _, err := c.s.New(1, rules(t))
			badField(t, err, c.field)
			if !errors.Is(err, fault.Sentinel(fault.InvalidArgument)) {
				t.Errorf("code of %v", err)
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		_, _, err := EndpointSpec{}.New(1, rules(t))
		badField(t, err, "/url")
	})
}

func TestEndpointTakes(t *testing.T) {
	t.Parallel()
	open := rules(t)
	open.AllowPrivate = true
	for name, c := range map[string]struct {
		s EndpointSpec
		r Rules
	}{
		"a full one": {EndpointSpec{
			URL: new("https://example.com:8443/a?b=c"), Tenant: new("a.B_c-9"), Description: new("ours"),
			EventTypes: &[]string{"*", "ticket.*", "a.b.c"}, Headers: &map[string]string{"Authorization": "Bearer a\tb", "X-A": ""},
			Secret: new("whsec_" + strings.Repeat("AAAA", 8)), Timeout: new(30 * time.Second), Ladder: &[]time.Duration{time.Second, 1500 * time.Millisecond},
			Retry4xx: new(false), Policy: new(ledger.Once), Window: new(24 * time.Hour), MaxInFlight: new(1000), Rate: new(0.1),
		}, rules(t)},
		"no ladder":    {EndpointSpec{URL: new("https://example.com"), Ladder: &[]time.Duration{}}, rules(t)},
		"http":         {EndpointSpec{URL: new("http://127.0.0.1:80/")}, open},
		"localhost":    {EndpointSpec{URL: new("http://localhost:80/")}, open},
		"a public one": {EndpointSpec{URL: new("https://93.184.216.34/")}, rules(t)},
		"a public v6":  {EndpointSpec{URL: new("https://[2606:4700::1111]:443/")}, rules(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := c.s.New(1, c.r); err != nil {
				t.Error(err)
			}
		})
	}
}

// No headers are one thing, however they are said: the request that makes them is the same.
func TestEndpointWithoutHeaders(t *testing.T) {
	t.Parallel()
	e, _, err := EndpointSpec{URL: new("https://example.com"), Headers: &map[string]string{}}.New(1, rules(t))
	if err != nil || e.Headers != nil {
		t.Errorf("headers are %v, %v; want nil", e.Headers, err)
	}
}

func TestEndpointApply(t *testing.T) {
	t.Parallel()
	made := func() Endpoint {
		e, _, err := EndpointSpec{URL: new("https://example.com"), Tenant: new("acme"), Window: new(time.Hour), Rate: new(5.0)}.New(1, rules(t))
		if err != nil {
			t.Fatal(err)
		}
		e.Secrets = nil
		return e
	}
	t.Run("all or nothing", func(t *testing.T) {
		t.Parallel()
		e := made()
		err := EndpointSpec{Description: new("new"), MaxInFlight: new(5), Ladder: &[]time.Duration{0}}.Apply(&e, rules(t))
		badField(t, err, "/retry_ladder/0")
		if d := cmp.Diff(made(), e); d != "" {
			t.Error(d)
		}
	})
	t.Run("what was given", func(t *testing.T) {
		t.Parallel()
		e, want := made(), made()
		h := map[string]string{"X-A": "1"}
		s := EndpointSpec{Description: new("new"), Tenant: new("acme"), WindowForever: true, RateNone: true, Headers: &h, Retry4xx: new(false)}
		if err := s.Apply(&e, rules(t)); err != nil {
			t.Fatal(err)
		}
		want.Description, want.Window, want.Rate, want.Retry4xx, want.Headers = "new", 0, 0, false, maps.Clone(h)
		h["X-A"] = "2" // the caller's map is its own
		if d := cmp.Diff(want, e); d != "" {
			t.Error(d)
		}
	})
	t.Run("never", func(t *testing.T) {
		t.Parallel()
		e := made()
		badField(t, EndpointSpec{Tenant: new("other")}.Apply(&e, rules(t)), "/tenant")
		badField(t, EndpointSpec{Secret: new(NewSecret())}.Apply(&e, rules(t)), "/secret")
		badField(t, EndpointSpec{Window: new(time.Hour), WindowForever: true}.Apply(&e, rules(t)), "/receiver_window_seconds")
		badField(t, EndpointSpec{Rate: new(1.0), RateNone: true}.Apply(&e, rules(t)), "/rate_per_second")
	})
}

func TestNewEventCheck(t *testing.T) {
	t.Parallel()
	good := NewEvent{EventID: "evt_1", Type: "ticket.resolved", Payload: []byte(`{"a":1}`)}
	for name, c := range map[string]struct {
		change func(*NewEvent)
		field  string
	}{
		"as it is":       {func(n *NewEvent) {}, ""},
		"a long id":      {func(n *NewEvent) { n.EventID = strings.Repeat("a", 255) }, ""},
		"subject":        {func(n *NewEvent) { n.Subject = "Zoë <zoe@example.com>" }, ""},
		"a number":       {func(n *NewEvent) { n.Payload = []byte(` 9007199254740993 `) }, ""},
		"1 MiB":          {func(n *NewEvent) { n.Payload = []byte(`"` + strings.Repeat("a", 1<<20-2) + `"`) }, ""},
		"no id":          {func(n *NewEvent) { n.EventID = "" }, "/event_id"},
		"too long an id": {func(n *NewEvent) { n.EventID = strings.Repeat("a", 256) }, "/event_id"},
		"a colon":        {func(n *NewEvent) { n.EventID = "a:b" }, "/event_id"},
		"a dot":          {func(n *NewEvent) { n.EventID = "a.b" }, "/event_id"},
		"no type":        {func(n *NewEvent) { n.Type = "" }, "/event_type"},
		"a wild type":    {func(n *NewEvent) { n.Type = "a.*" }, "/event_type"},
		"tenant":         {func(n *NewEvent) { n.Tenant = "a/b" }, "/tenant"},
		"a long subject": {func(n *NewEvent) { n.Subject = strings.Repeat("a", 256) }, "/subject"},
		"a bad subject":  {func(n *NewEvent) { n.Subject = "\xff" }, "/subject"},
		"a line":         {func(n *NewEvent) { n.Subject = "a\nb" }, "/subject"},
		"no payload":     {func(n *NewEvent) { n.Payload = nil }, "/payload"},
		"no JSON":        {func(n *NewEvent) { n.Payload = []byte(`{`) }, "/payload"},
		"a name twice":   {func(n *NewEvent) { n.Payload = []byte(`{"a":1,"a":2}`) }, "/payload"},
		"bad UTF-8":      {func(n *NewEvent) { n.Payload = []byte("\"\xff\"") }, "/payload"},
		"too large":      {func(n *NewEvent) { n.Payload = []byte(`"` + strings.Repeat("a", 1<<20) + `"`) }, "/payload"},
		"no endpoints":   {func(n *NewEvent) { n.Endpoints = []int64{} }, "/endpoint_ids"},
		"1001 endpoints": {func(n *NewEvent) { n.Endpoints = make([]int64, 1001) }, "/endpoint_ids"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := good
			c.change(&n)
			err := n.Check()
			if c.field == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			badField(t, err, c.field)
		})
	}
	large := NewEvent{EventID: "a", Type: "a", Payload: make([]byte, MaxPayload+1)}
	if err := large.Check(); !errors.Is(err, fault.Sentinel(fault.PayloadTooLarge)) {
		t.Errorf("a payload too large: %v", err)
	}
}
