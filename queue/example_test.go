package queue_test

import (
	"fmt"
	"time"

	"github.com/onceward/onceward/queue"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// Only the newest receipt acts. A time-out alone does not end it: another receive does.
func ExampleRow_Settle() {
	r := (&queue.Publish{}).New(noon, queue.Spec{Name: "jobs"}.New(noon), 1, 0)
	r.Receive(noon, time.Minute)
	late := noon.Add(2 * time.Minute)
	fmt.Println(r.Status(late), r.CanReceive(late))

	other := r // what would be if nobody else had received it
	s, c := other.Settle(late, queue.Settle{Verb: queue.Ack, Lease: 1}, queue.Group{}, queue.DLQ{})
	fmt.Println(s.Applied, c.Delete)

	r.Receive(late, time.Minute)
	s, c = r.Settle(late, queue.Settle{Verb: queue.Ack, Lease: 1}, queue.Group{}, queue.DLQ{})
	fmt.Println(s.Applied, c.Delete, s.Reason)
	// Output:
	// available true
	// true true
	// false false lease_lost
}

// A receive that ends with nothing recorded counts; a release gives the count back.
func ExampleRow_Lapse() {
	r := (&queue.Publish{}).New(noon, queue.Spec{Name: "jobs", MaxReceives: new(2)}.New(noon), 1, 0)
	dlq := queue.DLQ{ID: 9, Retention: queue.DefaultRetention}
	now := noon

	r.Receive(now, time.Minute)
	r.Settle(now, queue.Settle{Verb: queue.Release, Lease: r.Lease}, queue.Group{}, dlq)
	fmt.Println("released: receives", r.Receives)

	for range 2 {
		r.Receive(now, time.Minute)
		now = now.Add(time.Minute)
		c, _ := r.Lapse(now, dlq)
		fmt.Println("lapsed: receives", r.Receives, "dead:", c.Dead)
	}
	fmt.Println(r.LastError)

	r.Redrive(now)
	fmt.Println("redriven: receives", r.Receives, "leases", r.Lease, r.Status(now))
	// Output:
	// released: receives 0
	// lapsed: receives 1 dead: false
	// lapsed: receives 2 dead: true
	// received 2 times without an ack
	// redriven: receives 0 leases 3 available
}

// How long a nacked message waits that names no delay.
func ExampleBackoff() {
	for _, n := range []int{1, 2, 3, 9, 100} {
		fmt.Println(n, queue.Backoff(n))
	}
	// Output:
	// 1 1s
	// 2 2s
	// 3 4s
	// 9 4m16s
	// 100 5m0s
}
