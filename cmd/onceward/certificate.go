package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward/internal/group"
)

// certificateLook is how often the files are looked at. Their content is compared: a rename, a link that leads elsewhere and a file
// written over are then the same, whatever their times say.
const certificateLook = time.Second

// certificate is the pair of two files, taken anew when they change. Connections that are open keep theirs.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	current atomic.Pointer[tls.Certificate]
	seen    pair // at the last look
	judged  bool // it was taken or refused
}

// pair is what two files hold, or why they cannot be read.
type pair struct{ cert, key, bad string }

func openCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log, judged: true}
	c.seen = c.read()
	if err := c.take(c.seen); err != nil {
		return nil, fmt.Errorf("read --tls-cert %q and --tls-key %q: %w", certFile, keyFile, err)
	}
	return c, nil
}

func (c *certificate) read() pair {
	cert, err := os.ReadFile(c.certFile)
	if err != nil {
		return pair{bad: err.Error()}
	}
	key, err := os.ReadFile(c.keyFile)
	if err != nil {
		return pair{bad: err.Error()}
	}
	return pair{cert: string(cert), key: string(key)}
}

func (c *certificate) take(p pair) error {
	if p.bad != "" {
		return fmt.Errorf("%s", p.bad)
	}
	t, err := tls.X509KeyPair([]byte(p.cert), []byte(p.key))
	if err != nil {
		return err
	}
	c.current.Store(&t)
	return nil
}

func (c *certificate) expires() time.Time { return c.current.Load().Leaf.NotAfter.UTC() }

// part looks at the files until the end.
func (c *certificate) part() group.Part {
	return group.Part{Name: "certificate", Run: func(ctx context.Context) error {
		tick := time.NewTicker(certificateLook)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
				c.look()
			}
		}
	}}
}

// look takes the files' pair if it has changed, and was the same at the look before: what is just being written is left alone, and so is a
// certificate whose key is still to come.
func (c *certificate) look() {
	now := c.read()
	if now != c.seen {
		c.seen, c.judged = now, false
		return
	}
	if c.judged {
		return
	}
	c.judged = true
	if err := c.take(now); err != nil {
		c.log.Warn("the certificate's files have changed and are no pair; the one from before goes on: write both files, whole and of one key",
			"tls-cert", c.certFile, "tls-key", c.keyFile, "error", err, "expires", c.expires())
		return
	}
	c.log.Info("the certificate's files have changed: new connections get the new one", "tls-cert", c.certFile, "expires", c.expires())
}

// config is what a listener needs to speak TLS with the newest certificate.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}
