// Package account says what projects are charged for what they publish, and what they may be charged at most.
//
// Money is whole billionths of a US dollar, never a fraction of a machine's: sums are exact. A publish that stores a message is charged in the
// transaction that stores it, so that no crash loses or doubles a charge; its replays, and every redelivery, are free.
package account

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward/internal/fault"
)

// USD is an amount of money in billionths of a US dollar.
type USD int64

const (
	dollar = 1_000_000_000
	places = 9

	// MaxUSD is the largest amount that a price or a limit may be: a billion dollars.
	MaxUSD USD = 1_000_000_000 * dollar
)

// ParseUSD reads a decimal number of dollars, 0 to a billion, with at most nine places after the point: "0.00002".
func ParseUSD(s string) (USD, error) {
	whole, part, point := strings.Cut(s, ".")
	bad := func(r rune) bool { return r < '0' || r > '9' }
	digits := strings.TrimRight(part, "0")
	if whole == "" || point && part == "" || strings.ContainsFunc(whole+part, bad) || len(digits) > places || len(strings.TrimLeft(whole, "0")) > 10 {
		return 0, badUSD(s)
	}
	n, err := strconv.ParseInt(whole+digits+strings.Repeat("0", places-len(digits)), 10, 64)
	if err != nil || USD(n) > MaxUSD {
		return 0, badUSD(s)
	}
	return USD(n), nil
}

func badUSD(s string) error {
	return fault.New(fault.InvalidArgument, "%s is no amount of dollars; it must be 0 to 1000000000, with at most 9 digits after the point", fault.Quote(s))
}

// String writes the amount in dollars, exactly, as a decimal number without an exponent: "0.00002".
func (u USD) String() string {
	if u == 0 {
		return "0" // as of every call that is free
	}
	sign := ""
	if u < 0 {
		sign, u = "-", -u
	}
	s := strconv.FormatInt(int64(u), 10)
	if len(s) <= places {
		s = strings.Repeat("0", places+1-len(s)) + s
	}
	whole, part := s[:len(s)-places], strings.TrimRight(s[len(s)-places:], "0")
	if part != "" {
		part = "." + part
	}
	return sign + whole + part
}

// Balance is what a project has spent since it was made, and what it may.
type Balance struct {
	Spent USD
	Limit *USD // nil: any amount
}

// Left is what may still be spent, below zero where the limit was lowered beneath what is spent; false if there is no limit.
func (b Balance) Left() (USD, bool) {
	if b.Limit == nil {
		return 0, false
	}
	return *b.Limit - b.Spent, true
}

// Affords reports whether cost may be spent beside what is.
func (b Balance) Affords(cost USD) bool {
	left, limited := b.Left()
	return cost == 0 || !limited || cost <= left
}

// Day is what a project was charged on a day of the database's clock, in UTC.
type Day struct {
	Date     time.Time // its midnight
	Messages int64     // that were charged
	Cost     USD
}

const secondsOfDay = 24 * 60 * 60

// Number is the day's, counted from 1970-01-01: lists go by it.
func (d Day) Number() int64 { return d.Date.Unix() / secondsOfDay }

// DayOf gives the number of t's day.
func DayOf(t time.Time) int64 { return t.Unix() / secondsOfDay }

// DateOf gives the midnight of a day.
func DateOf(number int64) time.Time { return time.Unix(number*secondsOfDay, 0).UTC() }

// ErrInsufficient is for errors.Is.
var ErrInsufficient = fault.Sentinel(fault.InsufficientCredit)

// Insufficient is the answer to a publish that costs more than is left.
func Insufficient(cost USD) *fault.Error {
	return fault.New(fault.InsufficientCredit, "the message costs %s USD, and the project's credit has less left", cost).WithHint(raise)
}

const raise = "GET /v1/account/balance shows it; a key of scope root raises it: PATCH /v1/projects/{id}"

// Explain says with the balance what Insufficient says without.
func Explain(cost USD, b Balance) *fault.Error {
	left, limited := b.Left()
	if !limited {
		return Insufficient(cost) // it was raised meanwhile
	}
	return fault.New(fault.InsufficientCredit, "the message costs %s USD, and of the project's credit_limit_usd of %s, %s is left", cost, *b.Limit, left).WithHint(raise)
}

// Store keeps what was charged. Charging is part of publishing: queue.Store.
type Store interface {
	// Balance gives a project's: access.ErrNotFound if there is none. It is exact: all that is committed is in it.
	Balance(ctx context.Context, project int64) (Balance, error)
	// Usage lists at most limit days on which a project was charged, the newest first, those before the day numbered before; 0: from the newest.
	Usage(ctx context.Context, project, before int64, limit int) ([]Day, error)
}
