package webhook

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// H-W17: what was given up at its time-out is not handed over later: neither what the kernel still holds of it, nor, over TLS, what stands before it.
func TestGivenUpIsNotHandedOverLater(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	read, got := make(chan struct{}), make(chan int64, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
			close(got)
			return
		}
		defer c.Close()
		c.(*net.TCPConn).SetReadBuffer(4 << 10)
		<-read
		n, err := io.Copy(io.Discard, c)
		if err == nil {
			t.Errorf("the connection ended well after %d bytes; it was given up, so it is to be aborted", n)
		}
		got <- n
	}()
	body := bytes.Repeat([]byte("a"), 1<<20)
	p := wiring{}.poster()
	defer p.close()
	r := p.post(t.Context(), false, "http://"+l.Addr().String(), http.Header{}, body, 300*time.Millisecond)
	if r.err == nil || !r.sent {
		t.Fatalf("%+v", r)
	}
	close(read)
	if n := <-got; n >= int64(len(body)) {
		t.Errorf("all %d bytes came after the attempt was given up", n)
	}
}
