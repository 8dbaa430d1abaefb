package api

import (
	"context"
	"net/http"

	"github.com/onceward/onceward/internal/fault"
)

// maxHeaders is the most bytes of a request's first line and headers. An http.Server has a limit of its own, at which it answers
// without our envelope: it is to be above this one.
const maxHeaders = 32 << 10

type refusing struct{}

// Refusing gives a context whose requests are refused with err, all but /healthz: for connections that a server has no place for. Each is
// told to close its connection.
func Refusing(ctx context.Context, err error) context.Context {
	return context.WithValue(ctx, refusing{}, err)
}

// refusal says why a request is answered before anybody looks at what it wants; nil if it is not.
func refusal(w http.ResponseWriter, r *http.Request) error {
	if err, ok := r.Context().Value(refusing{}).(error); ok {
		w.Header().Set("Connection", "close")
		if r.URL.Path != "/healthz" {
			return err
		}
	}
	n, largest, most := len(r.Method)+len(r.RequestURI), "the address", len(r.RequestURI)
	for name, values := range r.Header {
		size := 0
		for _, v := range values {
			size += len(name) + len(v)
		}
		if n += size; size > most {
			largest, most = "the header "+fault.Quote(name), size
		}
	}
	if n > maxHeaders {
		w.Header().Set("Connection", "close")
		return fault.New(fault.HeadersTooLarge, "the request's address and headers have %d bytes; at most %d", n, maxHeaders).
			WithHint("%s has the most of them, %d", largest, most)
	}
	return nil
}
