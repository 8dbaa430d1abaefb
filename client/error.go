package client

import (
	"strconv"
	"time"
)

// Code names a kind of failure, as the contract spells it. A Code is an error to compare with: errors.Is(err, client.QueueNotFound).
type Code string

// The codes of the contract; docs/http-api.md says when each comes and what to do.
const (
	InvalidArgument      Code = "INVALID_ARGUMENT"
	ReceiptInvalid       Code = "RECEIPT_INVALID"
	Unauthenticated      Code = "UNAUTHENTICATED"
	InsufficientCredit   Code = "INSUFFICIENT_CREDIT"
	Forbidden            Code = "FORBIDDEN"
	NotFound             Code = "NOT_FOUND"
	QueueNotFound        Code = "QUEUE_NOT_FOUND"
	MessageNotFound      Code = "QUEUE_MESSAGE_NOT_FOUND"
	MethodNotAllowed     Code = "METHOD_NOT_ALLOWED"
	IdempotencyKeyReused Code = "IDEMPOTENCY_KEY_REUSED"
	IdempotencyInFlight  Code = "IDEMPOTENCY_IN_FLIGHT"
	EventIDReused        Code = "EVENT_ID_REUSED"
	QueueExists          Code = "QUEUE_EXISTS"
	QueueNotEmpty        Code = "QUEUE_NOT_EMPTY"
	ClaimChanged         Code = "CLAIM_CHANGED"
	Conflict             Code = "CONFLICT"
	PayloadTooLarge      Code = "PAYLOAD_TOO_LARGE"
	MessageTooLarge      Code = "QUEUE_MESSAGE_TOO_LARGE"
	UnsupportedMediaType Code = "UNSUPPORTED_MEDIA_TYPE"
	HeadersTooLarge      Code = "HEADERS_TOO_LARGE"
	RateLimited          Code = "RATE_LIMITED"
	Internal             Code = "INTERNAL"
	Unavailable          Code = "UNAVAILABLE"
)

func (c Code) Error() string { return string(c) }

// Error is a call that did not go well.
type Error struct {
	Call       string        // the method and path; "" of an item of a batch
	Status     int           // HTTP's; 0 where no answer came, and of an item of a batch
	Code       Code          // "" where the answer was not Onceward's, or none came
	Message    string        // what is wrong, with which value, and what the limit is
	Hint       string        // what to do about it
	Field      string        // the JSON pointer of the field at fault, if one is
	RequestID  string        // under which the server's log has it
	Key        string        // the idempotency key of the call: to go on with it later, call again with this one
	RetryAfter time.Duration // when to try again, as the server says
	Err        error         // what kept the answer, where none came
}

func (e *Error) Error() string {
	s := e.Message
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	switch {
	case e.Code != "":
		s += " (" + string(e.Code) + ")"
	case e.Status != 0:
		s += " (status " + strconv.Itoa(e.Status) + ")"
	}
	if e.Call != "" {
		s = e.Call + ": " + s
	}
	if e.Hint != "" {
		s += ": " + e.Hint
	}
	return s
}

// Unwrap gives what kept the answer.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is e's code.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// Temporary reports whether sending the same call again may help: no answer came, 429 or 5xx.
func (e *Error) Temporary() bool {
	return e.Status == 0 && e.Err != nil || e.Status == 429 || e.Status >= 500
}
