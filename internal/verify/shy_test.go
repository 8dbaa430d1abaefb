//go:build unix

package verify

import (
	"net"
	"net/http"
	"testing"
	"time"
)

func TestShyHoldsConnectionsUntilItIsOpened(t *testing.T) {
	t.Parallel()
	s, err := newShy()
	if err != nil {
		t.Fatal(err)
	}
	if c, err := net.DialTimeout("tcp", s.address, 300*time.Millisecond); err == nil {
		c.Close()
		t.Fatal("a connection was made")
	}
	l, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	r := newReceiver(l, 0)
	defer r.close()
	resp, err := http.Post("http://"+s.address, "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if requests, _ := r.seen(); requests[""] != 1 {
		t.Errorf("%v", requests)
	}
}
