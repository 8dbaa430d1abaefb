// Package api serves Onceward over HTTP, as docs/http-api.md says it. It turns requests into calls of the domains and their
// answers into JSON, and holds no rule of its own save what is a matter of HTTP: keys, envelopes, strictness, request keys.
//
// Each file is a resource. A handler is a func(*call) (any, error): what it answers becomes the envelope's data, and an
// error becomes the status and the sentence of its [fault.Code], in one place (errors.go).
package api
