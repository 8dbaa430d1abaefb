package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/group"
)

type serveCmd struct {
	Listen               string        `env:"ONCEWARD_LISTEN" default:"127.0.0.1:6623" help:"Address to answer on."`
	Store                string        `env:"ONCEWARD_STORE" default:"sqlite:onceward.db" help:"Where everything is kept: sqlite:PATH, or postgres://…"`
	APIKey               string        `name:"api-key" env:"ONCEWARD_API_KEY" help:"The default project's root key; without it the first start makes one and prints it once."`
	TLSCert              string        `name:"tls-cert" env:"ONCEWARD_TLS_CERT" help:"File of the certificate, and what leads to its root, in PEM: then the server speaks https alone. Both files are read again when they change."`
	TLSKey               string        `name:"tls-key" env:"ONCEWARD_TLS_KEY" help:"File of the certificate's private key, in PEM."`
	MaxConnections       int           `env:"ONCEWARD_MAX_CONNECTIONS" default:"4096" help:"Most connections of clients at a time, long polls included; those beyond are told 503."`
	SecretsKeyFile       string        `env:"ONCEWARD_SECRETS_KEY_FILE" help:"File of the 32-byte key that encrypts endpoint secrets; on SQLite made beside the store, on PostgreSQL demanded."`
	SecretsKey           string        `env:"ONCEWARD_SECRETS_KEY" help:"The same key itself, in hexadecimal or base64; better by its variable than by the flag."`
	AllowPrivateNetworks bool          `env:"ONCEWARD_ALLOW_PRIVATE_NETWORKS" help:"Allow http:// endpoints and private addresses: for tests and intranets."`
	MetricsListen        string        `env:"ONCEWARD_METRICS_LISTEN" help:"Address of a listener of its own for /metrics; without it there are none."`
	Grace                time.Duration `env:"ONCEWARD_GRACE" default:"18s" help:"How long a stop waits for what is being sent; all is over 7s later at most."`
	Drain                time.Duration `env:"ONCEWARD_DRAIN" default:"1s" help:"How long a stop goes on answering while /readyz says no, so that nobody sends what nobody reads; longer where a balancer looks seldom, at most --grace."`
	SendConcurrency      int           `env:"ONCEWARD_SEND_CONCURRENCY" default:"1024" help:"Most deliveries under way at a time."`
	DeliverySlack        time.Duration `env:"ONCEWARD_DELIVERY_SLACK" default:"10s" help:"A delivery's lease is its endpoint's time-out and this."`
	PublishPriceUSD      string        `name:"publish-price-usd" env:"ONCEWARD_PUBLISH_PRICE_USD" default:"0" help:"What a project is charged for each message that it publishes, in US dollars, with at most 9 digits after the point."`
	LogFormat            string        `env:"ONCEWARD_LOG_FORMAT" enum:"text,json" default:"text" help:"text or json, on standard error."`
	LogLevel             slog.Level    `env:"ONCEWARD_LOG_LEVEL" default:"info" help:"debug, info, warn or error."`
	Walkthrough          bool          `env:"ONCEWARD_WALKTHROUGH" help:"Print lines to paste that show what it does."`
}

// The collector runs less often than Go's default: the live heap is small, and publishing costs a quarter less CPU.
const (
	gcPercent   = 400
	memoryLimit = 1 << 30 // where the collector becomes eager again
)

func (serveCmd) Help() string {
	return examples("serve --store sqlite:onceward.db", "serve --listen 0.0.0.0:6623 --tls-cert cert.pem --tls-key key.pem",
		"serve --store postgres://db.example.com/onceward --secrets-key-file secrets.key")
}

func (c *serveCmd) Run(ctx context.Context, out output) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	config, registry, err := c.config()
	if err != nil {
		return err
	}
	for flag, at := range map[string]string{"listen": c.Listen, "metrics-listen": c.MetricsListen} {
		if _, _, err := net.SplitHostPort(at); at != "" && err != nil {
			return usage("--%s is %q; it must be HOST:PORT, like 127.0.0.1:6623", flag, at)
		}
	}
	l, cert, err := c.listen(config.Logger)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	defer l.Close()
	var metrics net.Listener
	if c.MetricsListen != "" {
		if metrics, err = net.Listen("tcp", c.MetricsListen); err != nil {
			return fmt.Errorf("serve metrics: %w", err)
		}
		defer metrics.Close()
	}
	s, err := onceward.New(ctx, config)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		if f, ok := errors.AsType[*fault.Error](err); ok && f.Code == fault.Unavailable {
			f.Hint = "Start the database, or name another: --store." // the store's own hint is for who sends requests
		}
		return fmt.Errorf("serve: %w", err)
	}
	defer context.AfterFunc(ctx, s.Stop)()
	debug.FreeOSMemory() // what the start took, which a collector that runs seldom would keep
	c.greet(out, l.Addr(), metrics, s.FirstKey())

	parts := append(answer(l, cert, s.Handler(), min(c.Drain, c.Grace), config.Logger), group.Part{Name: "server", Run: s.Run})
	if metrics != nil {
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(config.Logger.Handler(), slog.LevelWarn)}))
		parts = append(parts, serveHTTP("metrics", metrics, httpServer(mux), min(c.Drain, c.Grace)))
	}
	err = group.Run(ctx, group.Limits{Soft: c.Grace + 5*time.Second, Hard: time.Second}, parts...)
	return errors.Join(err, closed(s))
}

// closed closes the server, and does not wait for ever.
func closed(s *onceward.Server) error {
	done := make(chan error, 1)
	go func() { done <- s.Close() }()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Second):
		return errors.New("the store did not close within a second; what was answered is on disk")
	}
}

func (c *serveCmd) config() (onceward.Config, *prometheus.Registry, error) {
	var key []byte
	if c.SecretsKey != "" {
		k, err := onceward.ParseSecretsKey(c.SecretsKey)
		if err != nil {
			return onceward.Config{}, nil, usage("--secrets-key: %w", err)
		}
		key = k
	}
	price, err := account.ParseUSD(c.PublishPriceUSD)
	if err != nil {
		return onceward.Config{}, nil, usage("--publish-price-usd: %w", err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	config := onceward.Config{
		Store: c.Store, APIKey: c.APIKey, SecretsKey: key, SecretsKeyFile: c.SecretsKeyFile, AllowPrivateNetworks: c.AllowPrivateNetworks,
		Logger: c.logger(os.Stderr), Registry: registry, Grace: c.Grace, DeliverySlack: c.DeliverySlack, SendConcurrency: c.SendConcurrency, PublishPrice: price,
	}
	// A Config's zero is its default; what was typed is not.
	switch {
	case c.DeliverySlack == 0:
		return config, nil, usage("--delivery-slack is 0s; it must be at least 1s: a request's time-out must end before its delivery's lease")
	case c.SendConcurrency == 0:
		return config, nil, usage("--send-concurrency is 0; it must be at least 1")
	case c.Grace == 0:
		config.Grace = time.Nanosecond
	}
	if err := config.Check(); err != nil {
		return config, nil, usageError{err}
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return config, nil, usage("--tls-cert and --tls-key are given together or not at all")
	}
	if c.MaxConnections < 1 {
		return config, nil, usage("--max-connections is %d; it must be 1 or more", c.MaxConnections)
	}
	return config, registry, nil
}

func (c *serveCmd) logger(w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// greet says where the server is and shows what is shown once.
func (c *serveCmd) greet(out output, at net.Addr, metrics net.Listener, firstKey string) {
	address := "http://" + at.String()
	if c.TLSCert != "" {
		address = "https://" + at.String()
	}
	fmt.Fprintf(out, "onceward %s listening on %s, store %s\n", version(), address, onceward.RedactStore(c.Store))
	if metrics != nil {
		fmt.Fprintf(out, "metrics on http://%s/metrics\n", metrics.Addr())
	}
	if firstKey != "" {
		fmt.Fprintf(out, "the first API key, shown this once: %s\n", firstKey)
	}
	if !c.Walkthrough {
		return
	}
	self := os.Args[0]
	if !strings.ContainsRune(self, '/') {
		self = "onceward"
	}
	event := "evt_7"
	if firstKey == "" {
		event = fmt.Sprintf("evt_%d", time.Now().Unix()) // a store used before may know evt_7: nothing would be sent
		firstKey = "the key that the first start printed"
		if c.APIKey != "" {
			firstKey = "$ONCEWARD_API_KEY"
		}
	}
	fmt.Fprintf(out, `
The main job, in another terminal: an event is handed over twice, refused once, and arrives once.

  export ONCEWARD_URL=%[2]s ONCEWARD_API_KEY="%[3]s"; %[1]s receive --fail-first 1 &
  %[1]s endpoint create http://127.0.0.1:8099/hook --ladder 2s,5s
  for i in 1 2; do %[1]s event send ticket.resolved '{"ticket": 7}' --id %[4]s; done; sleep 4; %[1]s delivery list

`, self, address, firstKey, event)
}
