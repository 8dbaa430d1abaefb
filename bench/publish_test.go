package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// text is 1 KiB as a payload has it.
var text = strings.Repeat("lorem ipsum dolor sit amet, ", 36)[:1000]

// BenchmarkPublish: 64 callers publish one message of 1 KiB at a time over HTTP, each with a key of its own.
func BenchmarkPublish(b *testing.B) {
	onStores(b, func(b *testing.B, s *server) {
		s.post(b, "/v1/queue/create", []byte(`{"name":"jobs"}`), nil)
		publish := func(i int, round string) {
			body := fmt.Appendf(nil, `{"queue":"jobs","payload":{"n":%d,"text":"%s"},"idempotency_key":"%s-%d"}`, i, text, round, i)
			s.post(b, "/v1/queue/publish", body, nil)
		}
		share(500, 64, func(i int) { publish(i, "warm") })
		before, began := usage(b, s.postmaster), time.Now()
		share(b.N, 64, func(i int) { publish(i, "run") })
		s.report(b, before, time.Since(began))
	})
}
