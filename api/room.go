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
	firstBytes = 4 << 10   // of each body, without room: about what its connection costs anyway
	smallBody  = 64 << 10  // up to here a body is small: large ones never keep it waiting
	smallRoom  = 64 << 20  // of all small bodies together
	largeRoom  = 64 << 20  // of all large ones, as their bytes come
	restRoom   = 64 << 20  // of what those may still have that found no more there
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

type rooms struct{ small, large, rest, answers *semaphore.Weighted }

func newRooms() rooms {
	return rooms{semaphore.NewWeighted(smallRoom), semaphore.NewWeighted(largeRoom), semaphore.NewWeighted(restRoom), semaphore.NewWeighted(answerRoom)}
}

// enter waits until n bytes of a body may be held in a room, until the end of the call.
func (c *call) enter(room *semaphore.Weighted, held *int64, n int64) error {
	if !room.TryAcquire(n) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(c.ctx, roomWait)
		defer cancel()
		if room.Acquire(ctx, n) != nil {
			return noRoom("requests")
		}
		c.waited += time.Since(began)
	}
	*held += n
	return nil
}

// more waits until the next n bytes of a large body may be held, of the rest that it may still have. Room is taken as bytes come, not as they are
// announced: who announces much and sends nothing holds nothing.
//
// Where all that room is taken, by bodies of which none may be whole, each waits for its whole rest at once in a room apart. Who waits there
// holds nothing of it, and who has it waits for nothing more: it comes to its end, if only by its pace, and gives back all it holds. So
// bodies that have come half never wait for each other.
func (c *call) more(n, rest int64) error {
	if c.rest > 0 {
		return nil
	}
	if n = min(n, rest); c.rooms.large.TryAcquire(n) {
		c.large += n
		return nil
	}
	return c.enter(c.rooms.rest, &c.rest, rest)
}

// leave ends what enter and more began.
func (c *call) leave() {
	c.rooms.small.Release(c.small)
	c.rooms.large.Release(c.large)
	c.rooms.rest.Release(c.rest)
}

func noRoom(what string) error {
	e := fault.New(fault.Unavailable, "the server holds as many bytes of %s at the moment as it may; nothing was done", what).
		WithHint("send the call again in a moment; smaller ones, of at most %d bytes, find room sooner", smallBody)
	e.RetryAfter = time.Second
	return e
}

// readBody reads the body into buf, as there is room for it.
func (c *call) readBody(buf *bytes.Buffer) error {
	start := time.Now()
	body, size := http.MaxBytesReader(c.w, c.r.Body, maxBody), c.r.ContentLength
	if size > maxBody {
		c.readOn(size)
		return tooLarge()
	}
	if err := c.copyBody(buf, body, firstBytes); err != nil {
		return ended(err)
	}
	small := size
	if size < 0 { // it says its length by its end
		small, size = smallBody, maxBody
	}
	if small <= smallBody {
		if err := c.enter(c.rooms.small, &c.small, small); err != nil {
			return err
		}
		if err := c.copyBody(buf, body, smallBody); err != nil {
			return ended(err)
		}
	}
	control := http.NewResponseController(c.w)
	for {
		step := min(max(buf.Len(), smallBody), 4*pace)
		if err := c.more(int64(step), size-int64(buf.Len())); err != nil {
			return err
		}
		if c.rest > 0 {
			grow(buf, int(size)-buf.Len(), int(size)) // it has the room: to grow by and by would cost as much again in copies
		} else {
			grow(buf, step, int(size))
		}
		// Of a server that knows no deadlines there are none.
		until := paced(start.Add(c.waited), buf.Len())
		_ = control.SetReadDeadline(until)
		_ = control.SetWriteDeadline(until.Add(time.Minute))
		if err := c.copyBody(buf, body, int64(step)); err != nil {
			return ended(err)
		}
	}
}

// grow makes place in buf for n bytes more of a body of size at most. By itself a buffer would double beyond that.
func grow(buf *bytes.Buffer, n, size int) {
	if buf.Available() >= min(n, size-buf.Len())+bytes.MinRead {
		return
	}
	b := make([]byte, buf.Len(), min(max(2*buf.Cap(), buf.Len()+n), size)+bytes.MinRead)
	copy(b, buf.Bytes())
	*buf = *bytes.NewBuffer(b)
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
