package idempotency

import (
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/onceward/onceward/internal/canon"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
)

// fingerprint hashes what makes a request the same again: its method, path, query, content type and body. A JSON body counts by
// its canonical form, so that white space, the order of members and the form of numbers do not; one that has no such form (no JSON, a name
// twice, a lone surrogate, bad UTF-8) is refused. Any other counts byte by byte.
func fingerprint(r *http.Request, body []byte) ([32]byte, error) {
	content, encoding := r.Header.Get("Content-Type"), r.Header.Get("Content-Encoding")
	form := "bytes"
	if kind, params, err := mime.ParseMediaType(content); err == nil {
		isJSON := kind == "application/json" || strings.HasSuffix(kind, "+json")
		if isJSON && encoding == "" && len(body) > 0 {
			form = "json"
			delete(params, "charset") // which means nothing here: JSON is UTF-8
			canonical, err := canon.Append(nil, body)
			if err != nil {
				return [32]byte{}, fault.New(fault.InvalidArgument, "the body is no JSON that can be compared: %v", err).
					WithHint("send one JSON value in UTF-8, each name once in its object")
			}
			body = canonical
		}
		if same := mime.FormatMediaType(kind, params); same != "" {
			content = same
		}
	}
	return ledger.Hash(0, "fingerprint", r.Method, r.URL.EscapedPath(), queryForm(r.URL.RawQuery), content, encoding, form, string(body)), nil
}

// queryForm gives a query whose parameters are in one order: by name, and of one name as they came. What is no query counts as it is.
func queryForm(raw string) string {
	v, err := url.ParseQuery(raw)
	if err != nil {
		return raw
	}
	return v.Encode()
}
