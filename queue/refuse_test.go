package queue

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/fault"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	one, two := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	p := Publish{Queue: "jobs", Key: "k", Hash: one, Delay: time.Hour}
	source := Queue{Name: "jobs", DLQ: "jobs-dlq", MaxReceives: 3}
	dlq := Queue{Name: "jobs-dlq", IsDLQ: true}
	for name, c := range map[string]struct {
		err  error
		want fault.Code
	}{
		"the same publish":                {p.Again(one), ""},
		"another under its key":           {p.Again(two), fault.IdempotencyKeyReused},
		"a delay below the retention":     {p.Fits(time.Hour + 1), ""},
		"a delay as long":                 {p.Fits(time.Hour), fault.InvalidArgument},
		"a queue made again":              {Spec{Name: "jobs", MaxReceives: new(3)}.Again(source), ""},
		"with other settings":             {Spec{Name: "jobs", MaxReceives: new(4)}.Again(source), fault.QueueExists},
		"a queue as a dead-letter one":    {source.MayTake(false), fault.InvalidArgument},
		"a dead-letter queue":             {dlq.MayTake(false), ""},
		"a dead-letter queue for it":      {dlq.MayHave("other"), fault.InvalidArgument},
		"none for it, as it is":           {dlq.MayHave(""), ""},
		"another one":                     {source.MayHave("other"), ""},
		"no queue":                        {NoQueue("x"), fault.QueueNotFound},
		"no message":                      {NoMessage("x"), fault.MessageNotFound},
		"an id where receipts are a must": {NeedsReceipt("x"), fault.InvalidArgument},
	} {
		if got := fault.CodeOf(c.err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if !errors.Is(NoQueue("x"), ErrQueueNotFound) || !errors.Is(NoMessage("x"), ErrMessageNotFound) {
		t.Error("they are not the sentinels")
	}
}
