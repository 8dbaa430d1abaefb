package api

import (
	"net/http"
	"strings"
)

// bareRoot is where the same calls are answered without the envelope, for clients that read the data alone.
const bareRoot = "/bare"

// bare marks the answers to calls beneath bareRoot.
type bare struct{ http.ResponseWriter }

func isBare(path string) bool { return strings.HasPrefix(path, bareRoot+"/v1/") }

// path is the request's as the client wrote it.
func (c *call) path() string {
	if c.bare {
		return bareRoot + c.r.URL.Path
	}
	return c.r.URL.Path
}

// withoutPrefix gives a bare call's request as that of the call itself, so that keys and cursors of the one hold for the other.
func withoutPrefix(r *http.Request) *http.Request {
	c := r.WithContext(r.Context())
	u := *r.URL
	u.Path, u.RawPath = strings.TrimPrefix(u.Path, bareRoot), strings.TrimPrefix(u.RawPath, bareRoot)
	c.URL = &u
	return c
}
