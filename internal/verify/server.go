package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward/internal/child"
)

// The lease of a delivery is its endpoint's time-out, which a case may choose, and the slack that every server of a run is told.
const (
	quick = time.Second      // the time-out of most cases: their leases run out soon
	ready = 2 * time.Second  // of those with an instant to be met while a request is out, however slow the machine
	ample = 15 * time.Second // of those that end leases themselves
	slack = time.Second

	apiKey     = "verify-verify-verify"
	secretsKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
)

// server is a real process of the program.
type server struct{ *child.Server }

func startServer(ctx context.Context, program, name, store string, env ...string) (*server, error) {
	env = append(env, "ONCEWARD_API_KEY="+apiKey, "ONCEWARD_SECRETS_KEY="+secretsKey, "ONCEWARD_DELIVERY_SLACK="+slack.String())
	s, err := child.Start(ctx, program, name, store, env...)
	return &server{s}, err
}

func (r *run) killAll() {
	for _, w := range r.workers {
		w.kill()
	}
	for _, s := range r.servers {
		thaw(s.Process)
		s.Kill()
	}
	if r.receiver != nil {
		r.receiver.close()
	}
}

// lastWords gives what the servers of a run that went wrong logged.
func (r *run) lastWords() error {
	var errs []error
	for _, s := range r.servers {
		if w := s.Words(); w != "" {
			errs = append(errs, fmt.Errorf("server %s: %s", s.Name, w))
		}
	}
	return errors.Join(errs...)
}
