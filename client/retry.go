package client

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Second
	// longestAsked is the longest Retry-After that a call waits for; what is to come later is the caller's to decide.
	longestAsked = time.Minute
)

// backoff is the pause after a try that failed, the first being 1: it doubles, and half of it is by chance, so that those who failed together do
// not come back together.
func backoff(try int) time.Duration {
	d := lastPause
	if try < 8 {
		d = min(d, firstPause<<(try-1))
	}
	return d/2 + rand.N(d/2+1)
}

// pause waits before the next try: as long as the server asked for and a little more, or by its own pace. It reports false, at once, where ctx would
// end meanwhile or the server asks for more than a call waits.
func pause(ctx context.Context, try int, asked time.Duration) bool {
	d := backoff(try)
	if asked > 0 {
		d = asked + rand.N(min(asked/10, time.Second)+1)
	}
	if end, ok := ctx.Deadline(); asked > longestAsked || ok && time.Until(end) <= d {
		return false
	}
	return sleep(ctx, d)
}

// sleep waits, and reports whether ctx did not end.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return ctx.Err() == nil
	}
}
