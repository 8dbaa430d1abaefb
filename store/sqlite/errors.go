package sqlite

import (
	"github.com/onceward/onceward/internal/fault"
)

func queueNotFound(name string) error {
	return fault.New(fault.QueueNotFound, "there is no queue %q", name).WithHint("POST /v1/queue/create makes one")
}

func conflict(format string, args ...any) error { return fault.New(fault.Conflict, format, args...) }

func notFound(format string, args ...any) error { return fault.New(fault.NotFound, format, args...) }
