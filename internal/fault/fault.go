// Package fault holds the one error type that crosses Onceward's rooms: a code that a program can act on and a
// sentence that a person can. The edges map codes to HTTP statuses and exit codes in one place each.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Code names a kind of failure. The set and the spelling are the HTTP contract's (docs/http-api.md).
type Code string

// The codes of the contract.
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

// Error is a failure with its code and its sentence.
type Error struct {
	Code       Code
	Message    string        // what, which, the limit, the value
	Hint       string        // what to do about it
	Field      string        // the JSON pointer of the field at fault, if one is
	RetryAfter time.Duration // when to try again, if trying again may help
	Err        error         // what lies beneath; never shown to a client
}

// New makes an Error. The format's verbs are fmt's.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid is a bad argument: the field by its JSON pointer, and what is wrong with it.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Code: InvalidArgument, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Sentinel is an Error to compare with: errors.Is finds it in any Error of its code.
func Sentinel(code Code) error { return &Error{Code: code} }

// WithHint returns a copy of e that also says what to do.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// Wrap returns a copy of e that has err beneath it.
func (e *Error) Wrap(err error) *Error {
	c := *e
	c.Err = err
	return &c
}

func (e *Error) Error() string {
	s := e.Message
	if s == "" {
		s = string(e.Code)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the sentinel of e's code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Message == ""
}

// CodeOf gives err's code; Internal for an error that has none, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}
