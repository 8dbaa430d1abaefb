// Package webhook turns an event into signed POSTs to every endpoint that subscribes to it, retries them on a ladder,
// and remembers what was sent to whom.
//
// An event, its deliveries and their messages are stored in one transaction; a delivery's messages are of one group per
// endpoint, so that a slow endpoint costs only itself. What an answer of the receiver means is in answer.go, and is the table of
// docs/http-api.md. Signatures are those of Standard Webhooks (https://www.standardwebhooks.com).
package webhook
