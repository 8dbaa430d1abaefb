package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/onceward/onceward/internal/fault"
)

// What bodies and answers may hold of memory at a time. A request costs some times its bytes, from their reading to its answer.
const (
	smallBody  = 64 << 10  // up to here a body is small: large ones never keep it waiting
	smallRoom  = 64 << 20  // of all small bodies together
	largeRoom  = 128 << 20 // of all large ones
	answerRoom = 128 << 20 // of all large answers that are being sent
	roomWait   = 10 * time.Second
)

// A large body or answer has paceStart, and a second more for each pace bytes: who is slow costs a connection, but not for ever. Small
// ones have what the http.Server gives them.
const (
	paceStart = 20 * time.Second
	pace      = 128 << 10
)

func paced(from time.Time, n int) time.Time {
	return from.Add(paceStart + time.Duration(n)*time.Second/pace)
}

type rooms struct{ small, large, answers *semaphore.Weighted }

func newRooms() rooms {
	return rooms{semaphore.NewWeighted(smallRoom), semaphore.NewWeighted(largeRoom), semaphore.NewWeighted(answerRoom)}
}

// enter waits until n bytes of a body may be held, until the end of the call.
func (c *call) enter(n int64) error {
	room, held := c.rooms.small, &c.small
	if n > smallBody {
		room, held = c.rooms.large, &c.large
	}
	if !room.TryAcquire(n) {
		ctx, cancel := context.WithTimeout(c.ctx, roomWait)
		defer cancel()
		if room.Acquire(ctx, n) != nil {
			return noRoom("requests")
		}
	}
	*held += n
	return nil
}

// leave ends what enter began.
func (c *call) leave() {
	c.rooms.small.Release(c.small)
	c.rooms.large.Release(c.large)
}

func noRoom(what string) error {
	e := fault.New(fault.Unavailable, "the server holds as many bytes of %s at the moment as it may; nothing was done", what).
		WithHint("send the call again in a moment; smaller ones, of at most %d bytes, find room sooner", smallBody)
	e.RetryAfter = time.Second
	return e
}

// readBody reads the body into buf, once there is room for it.
func (c *call) readBody(buf *bytes.Buffer) error {
	body, size := http.MaxBytesReader(c.w, c.r.Body, maxBody), c.r.ContentLength
	if size > maxBody {
		c.readOn(size)
		return tooLarge()
	}
	if size < 0 { // it says its length by its end
		if err := c.enter(smallBody); err != nil {
			return err
		}
		if err := c.copyBody(buf, body, smallBody); err != nil {
			return ended(err)
		}
		size = maxBody
	}
	if err := c.enter(size); err != nil {
		return err
	}
	if size <= smallBody {
		return ended(c.copyBody(buf, body, size+1))
	}
	if c.r.ContentLength > 0 {
		buf.Grow(int(size) + bytes.MinRead)
	}
	control, start := http.NewResponseController(c.w), time.Now()
	for {
		// Of a server that knows no deadlines there are none.
		until := paced(start, buf.Len())
		_ = control.SetReadDeadline(until)
		_ = control.SetWriteDeadline(until.Add(time.Minute))
		if err := c.copyBody(buf, body, 4*pace); err != nil {
			return ended(err)
		}
	}
}

// mostReadOn is how much of a body that is too large is read, to be thrown away.
const mostReadOn = 4 * maxBody

// readOn reads a body that is too large to its end, within bounds: a client that writes all of it before it reads would else meet a broken
// connection, take that for an outage, and send it again. One that asks first (100-continue) need not send it.
func (c *call) readOn(size int64) {
	if size > mostReadOn || c.r.Header.Get("Expect") != "" {
		return
	}
	control, start := http.NewResponseController(c.w), time.Now()
	for read := int64(0); read < size; {
		until := paced(start, int(read))
		_ = control.SetReadDeadline(until)
		_ = control.SetWriteDeadline(until.Add(time.Minute))
		n, err := io.CopyN(io.Discard, c.r.Body, 4*pace)
		if err != nil {
			return
		}
		read += n
	}
}

// copyBody reads up to n bytes more; io.EOF is the body's end.
func (c *call) copyBody(buf *bytes.Buffer, body io.Reader, n int64) error {
	if m, err := buf.ReadFrom(io.LimitReader(body, n)); err != nil || m == n {
		return err
	}
	return io.EOF
}

// ended says why a body could not be read to its end; nil if it was.
func ended(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fault.New(fault.InvalidArgument, "the body came too slowly: a small one may take %v, a larger one a second more for each %d bytes", paceStart, pace).
			WithHint("send the call again on a better line, or in parts").Wrap(err)
	}
	return fault.New(fault.InvalidArgument, "the body ended before it was whole").WithHint("send the call again, with the whole body").Wrap(err)
}

// hold takes room for a large answer and gives what ends that. What a write has done cannot be taken back, so its answer is sent anyway: it
// is hardly more than the body, which has its room.
func (c *call) hold(answer *bytes.Buffer) (release func(), err error) {
	n := min(int64(answer.Len()), answerRoom)
	if n <= smallBody || c.write && c.lost == nil {
		return func() {}, nil
	}
	if !c.rooms.answers.TryAcquire(n) {
		return nil, noRoom("answers")
	}
	_ = http.NewResponseController(c.w).SetWriteDeadline(paced(time.Now(), answer.Len()))
	return func() { c.rooms.answers.Release(n) }, nil
}
