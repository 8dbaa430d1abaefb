package main

import (
	"strings"
	"testing"
	"time"
)

// What is typed as zero is zero, or refused; never the default.
func TestServeZero(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set  func(*serveCmd)
		want string
	}{
		{func(*serveCmd) {}, ""},
		{func(c *serveCmd) { c.Grace = 0 }, ""},
		{func(c *serveCmd) { c.DeliverySlack = 0 }, "--delivery-slack is 0s"},
		{func(c *serveCmd) { c.SendConcurrency = 0 }, "--send-concurrency is 0"},
	} {
		s := serveCmd{Store: "sqlite:a.db", Grace: time.Second, DeliverySlack: time.Second, SendConcurrency: 1, MaxConnections: 1, PublishPriceUSD: "0"}
		c.set(&s)
		config, _, err := s.config()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("error %v, want %q", err, c.want)
		}
		if err == nil && config.Grace > s.Grace+time.Nanosecond {
			t.Errorf("a grace of %v became %v", s.Grace, config.Grace)
		}
	}
}
