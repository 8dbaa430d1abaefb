package worker

import (
	"context"
	"time"
)

const (
	receiveTimeout = 10 * time.Second
	beforeReceive  = 50 * time.Millisecond // between looks whether what was done is settled
)

// receive starts jobs until the soft stop.
func (l *Loop[J, O]) receive() {
	pause, idle, away, waits := backoff{}, pacer{}, false, false
	for l.soft.Err() == nil {
		if l.late.Load() > 0 {
			// What the store would hand out now may be what we have done and could not yet say.
			sleep(l.soft, beforeReceive)
			continue
		}
		n := l.acquire()
		if n == 0 {
			return
		}
		at := time.Now()
		if waits {
			// What was handed out to us while we waited leaves nothing that was not told of since.
			jobs, asked := l.Source.Wait(l.soft, n)
			waits = len(jobs) > 0
			if l.start(n, jobs, asked); waits {
				idle = pacer{}
			} else {
				sleep(l.soft, idle.next(time.Since(at)))
			}
			continue
		}
		jobs, err := l.take(n)
		jobs = l.start(n, jobs, at)
		switch {
		case err != nil:
			if !away {
				l.Logger.Warn("cannot receive jobs; trying again until it works", "error", err)
			}
			away = true
			sleep(l.soft, pause.next(err))
			continue
		case away:
			l.Logger.Info("receiving jobs again")
		}
		pause, away = backoff{}, false
		if len(jobs) > 0 {
			idle = pacer{}
			continue
		}
		waits = true
	}
}

// start starts the jobs that came for n places, and lets go of the places that are left. at is when they were asked for.
func (l *Loop[J, O]) start(n int, jobs []J, at time.Time) []J {
	if len(jobs) > n {
		// More than we asked for cannot be started. Their leases bring them back.
		l.Logger.Error("the source handed out more jobs than were asked for", "asked", n, "got", len(jobs))
		jobs = jobs[:n]
	}
	for range n - len(jobs) {
		l.free <- struct{}{}
	}
	for _, j := range jobs {
		l.jobs.Go(func() { l.job(j, at) })
	}
	return jobs
}

// take receives at most n jobs. The soft stop does not interrupt it: a receive cut off in its commit would leave jobs leased to nobody.
func (l *Loop[J, O]) take(n int) ([]J, error) {
	ctx, cancel := context.WithTimeout(l.words, receiveTimeout)
	defer cancel()
	return l.Source.Receive(ctx, n)
}

// acquire waits for a free place and takes all there are; 0 if the worker stops first.
func (l *Loop[J, O]) acquire() int {
	select {
	case <-l.soft.Done():
		return 0
	case <-l.free:
	}
	n := 1
	for {
		select {
		case <-l.free:
			n++
		default:
			return n
		}
	}
}
