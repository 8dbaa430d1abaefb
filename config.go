package onceward

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/webhook"
)

// Config says what a Server is. The zero value is a server on the file onceward.db in the current folder.
type Config struct {
	// Store is where everything is kept: "sqlite:PATH" or a PostgreSQL URL, "postgres://…". Default: sqlite:onceward.db.
	// SQLite needs no set-up and allows one process; PostgreSQL allows any number, and is another service to keep.
	Store string

	// APIKey is the default project's root key, 16 to 255 printable ASCII characters. Default: the first start on an empty
	// store makes one, which FirstKey gives once. Setting it replaces the one that was set so before; one that was revoked stays
	// revoked.
	APIKey string

	// SecretsKey encrypts the endpoints' signing secrets: 32 bytes that never change, the same for every server of one
	// store. Default: SecretsKeyFile.
	SecretsKey []byte

	// SecretsKeyFile holds the secrets key. Default on SQLite: the store's path and ".key", made at the first start,
	// readable by its owner alone. On PostgreSQL one of SecretsKey and SecretsKeyFile is demanded: a key made by one server
	// would lock out the others.
	SecretsKeyFile string

	// AllowPrivateNetworks lets endpoints be http:// and on private addresses, loopback included. Default: no. With it, whoever
	// may make an endpoint may have this server reach whatever this machine reaches.
	AllowPrivateNetworks bool

	// Dial makes the connections to receivers. Default: the net's own, guarded as AllowPrivateNetworks says. With Dial nothing but it decides
	// what is reached: it is for tests over a network in memory, and for a gateway through which all must go.
	Dial webhook.Dial

	// PublishPrice is what a project is charged for each message that it publishes, in billionths of a US dollar. Default: nothing,
	// and then nothing is metered. At a price each publish writes a row more. Give all servers of a store the same: inside callers' own
	// transactions that of the server made last counts.
	PublishPrice account.USD

	// Logger is told what an operator should know. Default: slog.Default().
	Logger *slog.Logger

	// Registry is where the metrics go. Default: none are kept. A scrape asks the store for each queue's counts.
	Registry prometheus.Registerer

	// Grace is how long a stop waits for what is being sent. Default: 18 s, so that a stop ends within 25 s. What is cut off is
	// recorded as unknown, and sent again under the same key.
	Grace time.Duration

	// DeliverySlack is added to an endpoint's time-out to make a delivery's lease: the time for recording what came of it.
	// Default: 10 s; at least 1 s, since a request that outlives its lease is sent twice. More of it lets a slow store be slow; less
	// of it takes up a dead server's deliveries sooner.
	DeliverySlack time.Duration

	// SendConcurrency is how many requests are under way at a time. Default: 1024. Each costs a connection and its buffers,
	// about 50 KiB, and its payload. About a quarter as many endpoints may hang to their time-outs at once before others wait.
	SendConcurrency int
}

// Limits of a Config.
const (
	minKey   = 16
	maxKey   = 255
	minSlack = time.Second
	maxSlack = 5 * time.Minute
	maxGrace = 5 * time.Minute
)

func (c Config) withDefaults() Config {
	if c.Store == "" {
		c.Store = "sqlite:onceward.db"
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Grace == 0 {
		c.Grace = 18 * time.Second
	}
	if c.DeliverySlack == 0 {
		c.DeliverySlack = 10 * time.Second
	}
	if c.SendConcurrency == 0 {
		c.SendConcurrency = 1024
	}
	return c
}

// Check answers an error that names a field that is out of range. New does it too; it opens nothing.
func (c Config) Check() error { return c.withDefaults().validate() }

// validate names the field that is wrong.
func (c Config) validate() error {
	if _, err := parseStore(c.Store); err != nil {
		return err
	}
	if c.APIKey != "" {
		if len(c.APIKey) < minKey || len(c.APIKey) > maxKey || !printable(c.APIKey) {
			return fmt.Errorf("config APIKey has %d characters; it must be %d to %d of printable ASCII, without spaces", len(c.APIKey), minKey, maxKey)
		}
	}
	if c.SecretsKey != nil && len(c.SecretsKey) != secretsKeyLen {
		return fmt.Errorf("config SecretsKey has %d bytes; it must be %d", len(c.SecretsKey), secretsKeyLen)
	}
	if c.PublishPrice < 0 || c.PublishPrice > account.MaxUSD {
		return fmt.Errorf("config PublishPrice is %s dollars; it must be 0 to %s", c.PublishPrice, account.MaxUSD)
	}
	if c.Grace < 0 || c.Grace > maxGrace {
		return fmt.Errorf("config Grace is %v; it must be 0 to %v", c.Grace, maxGrace)
	}
	if c.DeliverySlack < minSlack || c.DeliverySlack > maxSlack {
		return fmt.Errorf("config DeliverySlack is %v; it must be %v to %v: a request's time-out must end before its delivery's lease",
			c.DeliverySlack, minSlack, maxSlack)
	}
	if c.SendConcurrency < 1 || c.SendConcurrency > 100_000 {
		return fmt.Errorf("config SendConcurrency is %d; it must be 1 to 100000", c.SendConcurrency)
	}
	return nil
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
