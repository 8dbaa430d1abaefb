package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/worker"
)

// errNotHTTPS refuses an address that was taken while private networks were allowed, and with them http://.
var errNotHTTPS = errors.New("the address was refused: it is http://, which is sent to only where private networks are allowed")

// maxReason is the most bytes of an error that we have no sentence for.
const maxReason = 128

// reason says in a sentence why no answer came. It is shown to tenants: what it says of our own network is the address
// of a public receiver at most.
func reason(a answer) string {
	err := a.err
	if err == nil {
		return "the receiver answered with a status that HTTP does not know"
	}
	var (
		dns       *net.DNSError
		cert      *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		alert     tls.AlertError
		record    tls.RecordHeaderError
		op        *net.OpError
	)
	before := "it answered"
	if !a.sent {
		before = "the request was sent"
	}
	timedOut := errors.Is(err, context.DeadlineExceeded) || isTimeout(err)
	switch {
	case errors.Is(err, worker.ErrLeaseLost):
		return "the lease was lost during the attempt"
	case errors.Is(err, context.Canceled), errors.Is(err, worker.ErrStopped):
		return "the server stopped during the attempt"
	case errors.Is(err, errGuard):
		return "the address was refused: it is not a public one"
	case errors.As(err, &dns) && dns.IsNotFound:
		return "DNS: " + dns.Name + " was not found"
	case errors.As(err, &dns):
		return "DNS: " + dns.Name + " could not be looked up"
	case errors.As(err, &cert), errors.As(err, &authority):
		return "TLS: the receiver's certificate is not valid: " + after(err, "failed to verify certificate: ")
	case errors.As(err, &alert), errors.As(err, &record), strings.Contains(err.Error(), "tls: "):
		return "TLS: " + after(err, "tls: ")
	case timedOut && !a.sent:
		return "the connection was not made in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case timedOut:
		return "no answer within the time-out"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the receiver reset the connection before " + before
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the receiver closed the connection before " + before
	case errors.As(err, &op) && op.Op == "dial":
		return "the connection was not made: " + op.Err.Error()
	}
	if s := fault.Clip(err.Error(), maxReason); s != err.Error() {
		return s + "…"
	}
	return err.Error()
}

func isTimeout(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout()
}

// after gives the end of an error's text behind a mark.
func after(err error, mark string) string {
	s := err.Error()
	if i := strings.LastIndex(s, mark); i >= 0 {
		return s[i+len(mark):]
	}
	return s
}
