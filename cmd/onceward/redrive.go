package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward/internal/fault"
)

type redriveCmd struct {
	Get       redriveGetCmd       `cmd:"" help:"Show how far one is."`
	Endpoints redriveEndpointsCmd `cmd:"" help:"Show how far one of deliveries is with each endpoint, and what came of its canary."`
	Cancel    redriveCancelCmd    `cmd:"" help:"Stop one: what has not moved stays where it is."`
}

const redrivesPath = "/v1/redrives/"

var redriveFields = []string{"redrive_id", "state", "total", "moved", "left", "remaining"}

type redriveGetCmd struct {
	looker
	Which string `arg:"" help:"Redrive id, rdv_…, or a queue's name: its newest."`
}

func (redriveGetCmd) Help() string {
	return examples("redrive get "+exampleRedrive+" --watch", "redrive get jobs")
}

var redriveID = regexp.MustCompile(`^rdv_[0-9A-Za-z]{24}$`)

// Run shows a redrive; a watch ends with it.
func (c *redriveGetCmd) Run(ctx context.Context, out output) error {
	path := queuePath + "dlq/redrive/" + url.PathEscape(c.Which)
	if redriveID.MatchString(c.Which) {
		path = redrivesPath + c.Which
	}
	return c.look(ctx, out, func(out output) (bool, error) {
		var o object
		if _, err := c.call(ctx, "GET", path, nil, &o); err != nil {
			return false, err
		}
		return line(o["state"]) != redriveRuns, c.fields(out, o, redriveFields...)
	})
}

type redriveEndpointsCmd struct {
	lister
	ID string `arg:"" help:"Redrive id, rdv_…"`
}

func (redriveEndpointsCmd) Help() string {
	return examples("redrive endpoints " + exampleRedrive + " --watch")
}

func (c *redriveEndpointsCmd) Run(ctx context.Context, out output) error {
	return c.show(ctx, out, redrivesPath+url.PathEscape(c.ID)+"/endpoints", "endpoint_id", "state", "total", "moved", "left", "canary_delivery_id=CANARY")
}

type redriveCancelCmd struct {
	remote
	ID string `arg:"" help:"Redrive id, rdv_…"`
}

func (redriveCancelCmd) Help() string { return examples("redrive cancel " + exampleRedrive) }

func (c *redriveCancelCmd) Run(ctx context.Context, out output) error {
	var o object
	if _, err := c.call(ctx, "POST", redrivesPath+url.PathEscape(c.ID)+"/cancel", object{}, &o); err != nil {
		return err
	}
	return c.fields(out, o, redriveFields...)
}

// waiter is what the commands that begin a redrive have in common.
type waiter struct {
	Wait bool `help:"Until it has ended, and say meanwhile how far it is."`
}

const (
	redriveRuns = "running"
	waitEvery   = 500 * time.Millisecond
)

// start begins a redrive and prints it; with --wait, when it has ended.
func (w *waiter) start(ctx context.Context, out output, r *remote, path string, body object) error {
	var o object
	if _, err := r.call(ctx, "POST", path, body, &o); err != nil {
		return err
	}
	id := line(o["redrive_id"])
	if w.Wait {
		if err := awaitRedrive(ctx, r, id, &o); err != nil {
			return fmt.Errorf("redrive %s goes on in the background: %w", id, err)
		}
	}
	if err := r.fields(out, o, redriveFields...); err != nil {
		return err
	}
	switch state := line(o["state"]); {
	case state == redriveRuns && !r.JSON:
		fmt.Fprintf(os.Stderr, "it goes on in the background: onceward redrive get %s --watch\n", id)
	case w.Wait && state == "cancelled":
		return fmt.Errorf("redrive %s was cancelled: %s of %s moved", id, line(o["moved"]), line(o["total"]))
	}
	return nil
}

// awaitRedrive asks for a redrive until it has ended. A server that is away for a while goes on with it when it is back.
func awaitRedrive(ctx context.Context, r *remote, id string, o *object) error {
	var seen atomic.Pointer[string]
	seen.Store(new("begun"))
	p := startProgress(func(time.Duration, int) string { return "redrive " + id + ": " + *seen.Load() })
	defer p.stop()
	for line((*o)["state"]) == redriveRuns {
		seen.Store(new(fmt.Sprintf("%s of %s moved, %s left, %s to go", line((*o)["moved"]), line((*o)["total"]), line((*o)["left"]), line((*o)["remaining"]))))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(waitEvery):
		}
		var now object
		_, err := r.call(ctx, "GET", redrivesPath+id, nil, &now)
		switch {
		case err == nil:
			*o = now
		case ctx.Err() == nil && fault.CodeOf(err) == fault.Unavailable:
			seen.Store(new(err.Error()))
		default:
			return err
		}
	}
	return nil
}
