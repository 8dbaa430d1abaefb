package webhook

import (
	"context"
	"net"
)

// DialBy makes the worker send over a network of the test's own.
func (w *Worker) DialBy(dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	w.post = wiring{dial: dial}.poster()
}

// DialBy has the pusher dial by d, for a network in memory.
func (p *Pusher) DialBy(d func(ctx context.Context, network, addr string) (net.Conn, error)) {
	p.post = wiring{dial: d}.poster()
}
