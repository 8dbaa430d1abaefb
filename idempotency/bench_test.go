package idempotency_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/onceward/onceward/idempotency"
)

// BenchmarkMiddleware is the cost of a request that is new and of one that is repeated, alone and from 64 callers at once, whose records share
// commits; "bare" is the handler without a guard. The PostgreSQL of tests does not wait for the disk.
func BenchmarkMiddleware(b *testing.B) {
	for name, open := range ledgers {
		guard, err := idempotency.New(idempotency.Config{Ledger: open(b), Tenant: idempotency.OneTenant, Project: projects.Add(1), Logger: quiet})
		if err != nil {
			b.Fatal(err)
		}
		bare := http.HandlerFunc(made)
		guarded := guard.Handler(bare)
		var keys atomic.Int64
		one := func(h http.Handler, key string, status int) {
			q := httptest.NewRequest("POST", "/exports", strings.NewReader(`{"month":5}`))
			q.Header["Idempotency-Key"], q.Header["Content-Type"] = []string{key}, []string{"application/json"}
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, q); w.Code != status {
				b.Fatalf("%d %s", w.Code, w.Body)
			}
		}
		fresh := func() { one(guarded, fmt.Sprint("k", keys.Add(1)), http.StatusAccepted) }
		again := func() { one(guarded, "again", http.StatusAccepted) }
		again()
		for kind, do := range map[string]func(){"new": fresh, "repeated": again, "bare": func() { one(bare, "k", http.StatusAccepted) }} {
			b.Run(name+"/"+kind+"/single", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					do()
				}
			})
			b.Run(name+"/"+kind+"/64 callers", func(b *testing.B) {
				b.SetParallelism(callers / 2)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						do()
					}
				})
			})
		}
	}
}
