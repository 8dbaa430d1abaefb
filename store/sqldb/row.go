package sqldb

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/onceward/onceward/ledger"
)

// row is a claim as statements take it, in JSON: one parameter that every driver has. Times are microseconds since 1970; what is empty is
// left out, and NULL.
type row struct {
	ID         int64   `json:"id,omitempty"`
	Project    int64   `json:"project"`
	Scope      string  `json:"scope"`
	Key        string  `json:"key"`
	Hash       blob    `json:"hash"`
	WorkHash   blob    `json:"work_hash,omitempty"`
	Policy     string  `json:"policy"`
	State      string  `json:"state"`
	Fence      int64   `json:"fence"`
	Begun      int64   `json:"begun"`
	Attempt    int     `json:"attempt"`
	Tries      int     `json:"tries"`
	MaxTries   int     `json:"max_tries"`
	Ambiguous  bool    `json:"ambiguous"`
	GrantID    string  `json:"grant_id,omitempty"`
	Owner      string  `json:"owner,omitempty"`
	LeaseUntil int64   `json:"lease_until,omitempty"`
	NextAt     int64   `json:"next_at,omitempty"`
	FinishedAt int64   `json:"finished_at,omitempty"`
	FirstAt    int64   `json:"first_at,omitempty"`
	ForgetAt   int64   `json:"forget_at,omitempty"`
	WindowS    float64 `json:"window_s,omitempty"`
	KeepS      float64 `json:"keep_s,omitempty"`
	OriginAt   int64   `json:"origin_at,omitempty"`
	CreatedAt  int64   `json:"created_at,omitempty"`
	Result     blob    `json:"result,omitempty"`
	LastError  string  `json:"last_error,omitempty"`
}

// blob is bytes, in hexadecimal.
type blob []byte

func (b blob) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, b), nil }

func rowOf(c *ledger.Claim) row {
	return row{
		ID: c.ID, Project: c.Project, Scope: clean(c.Scope), Key: clean(c.Key), Hash: c.Hash[:], WorkHash: c.WorkHash, Policy: string(c.Policy),
		State: string(c.State), Fence: c.Fence, Begun: c.Begun, Attempt: c.Attempt, Tries: c.Tries, MaxTries: c.MaxTries, Ambiguous: c.Ambiguous,
		GrantID: c.GrantID, Owner: c.Owner, LeaseUntil: micros(c.LeaseUntil), NextAt: micros(c.NextAt), FinishedAt: micros(c.FinishedAt),
		FirstAt: micros(c.FirstAt), WindowS: c.Window.Seconds(), KeepS: c.Keep.Seconds(), OriginAt: micros(c.OriginAt), CreatedAt: micros(c.CreatedAt),
		ForgetAt: micros(c.ForgetAt()), Result: c.Result, LastError: clean(c.LastError),
	}
}

// scanClaim reads what a statement selects of claims, and the database's time where it tells it.
func scanClaim(scan func(...any) error) (*ledger.Claim, time.Time, error) {
	var r row
	var now int64
	var hash, work, result []byte
	err := scan(&now, &r.ID, &r.Project, &r.Scope, &r.Key, &hash, &work, &r.Policy, &r.State, &r.Fence, &r.Begun, &r.Attempt, &r.Tries,
		&r.MaxTries, &r.Ambiguous, &r.GrantID, &r.Owner, &r.LeaseUntil, &r.NextAt, &r.FinishedAt, &r.FirstAt, &r.WindowS, &r.KeepS,
		&r.OriginAt, &r.CreatedAt, &result, &r.LastError)
	if err != nil {
		return nil, time.Time{}, err
	}
	c := &ledger.Claim{
		ID: r.ID, Project: r.Project, Scope: r.Scope, Key: r.Key, WorkHash: work, Policy: ledger.Policy(r.Policy), State: ledger.State(r.State),
		Fence: r.Fence, Begun: r.Begun, Attempt: r.Attempt, Tries: r.Tries, MaxTries: r.MaxTries, Ambiguous: r.Ambiguous, GrantID: r.GrantID,
		Owner: r.Owner, LeaseUntil: instant(r.LeaseUntil), NextAt: instant(r.NextAt), FinishedAt: instant(r.FinishedAt), FirstAt: instant(r.FirstAt),
		Window: span(r.WindowS), Keep: span(r.KeepS), OriginAt: instant(r.OriginAt), CreatedAt: instant(r.CreatedAt), Result: result, LastError: r.LastError,
	}
	copy(c.Hash[:], hash)
	return c, instant(now), nil
}

// noteRow is a line of a claim's history.
type noteRow struct {
	ClaimID int64  `json:"claim_id"`
	At      int64  `json:"at"`
	What    string `json:"what"`
	Fence   int64  `json:"fence"`
	Who     string `json:"who,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

func span(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * float64(time.Second)))
}

// text makes the parameter of a statement. Nothing that is put in it can fail to be JSON.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// clean makes s a text that both databases take: valid UTF-8 without the zero character.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
