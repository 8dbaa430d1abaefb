package api

import (
	"errors"
	"time"

	"github.com/onceward/onceward/internal/fault"
)

type health struct {
	Status string `json:"status"`
}

// healthz answers that the program runs.
func (c *call) healthz() (any, error) { return health{"ok"}, nil }

// readyz answers whether requests can be served: not while the server is stopping, so that nobody sends it new ones.
func (c *call) readyz() (any, error) {
	if c.stopped.Err() != nil {
		return nil, &fault.Error{Code: fault.Unavailable, Message: "the server is stopping", RetryAfter: time.Second}
	}
	if err := c.Ready(c.ctx); err != nil {
		if e, ok := errors.AsType[*fault.Error](err); ok && e.Code == fault.Unavailable {
			return nil, err
		}
		return nil, &fault.Error{Code: fault.Unavailable, Message: "the server is not ready", RetryAfter: time.Second, Err: err}
	}
	return health{"ready"}, nil
}
