package sqlite

import (
	"github.com/onceward/onceward/internal/fault"
)

func conflict(format string, args ...any) error { return fault.New(fault.Conflict, format, args...) }

func notFound(format string, args ...any) error { return fault.New(fault.NotFound, format, args...) }
