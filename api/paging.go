package api

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

const (
	defaultLimit = 50
	maxLimit     = 500
)

// query is the parameters of a call.
type query struct {
	c      *call
	values url.Values
}

// readQuery reads the query. What the call does not name is refused: a filter with a slip of the pen would otherwise show everything.
func (c *call) readQuery(names []string) error {
	if c.query.c = c; c.r.URL.RawQuery == "" {
		return nil
	}
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return fault.New(fault.InvalidArgument, "the query cannot be read: %v; it is name=value&name=value, with %%25 for a %%", fault.Clip(err.Error(), 100))
	}
	for name, v := range values {
		switch {
		case !slices.Contains(names, name):
			return parameter(fault.Clip(name, 200), "%s is not a parameter of this call; it has %s", fault.Quote(name), cmp.Or(strings.Join(names, ", "), "none"))
		case len(v) > 1:
			return parameter(name, "%s is there twice", name)
		case !utf8.ValidString(v[0]) || strings.Contains(v[0], "\x00"):
			return parameter(name, "%s is not text in UTF-8", name)
		}
	}
	c.query.values = values
	return nil
}

func parameter(name, format string, args ...any) error {
	return fault.Invalid("/"+name, format, args...)
}

func (q query) get(name string) string { return q.values.Get(name) }

// page reads cursor and limit. A cursor belongs to its list and its filter.
func (q query) page() (queue.Page, error) {
	p := queue.Page{Limit: defaultLimit}
	if s := q.get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > maxLimit {
			return p, parameter("limit", "limit is %s; it must be 1 to %d", fault.Quote(s), maxLimit)
		}
		p.Limit = n
	}
	if s := q.get("cursor"); s != "" {
		after, ok := q.c.IDs.OpenCursor(q.c.project, q.listName(), s)
		if !ok {
			return p, parameter("cursor", "the cursor %s is not one of this list with this filter", fault.Quote(s)).(*fault.Error).
				WithHint("send next_cursor as it came, with the same filter, or none to begin anew")
		}
		p.After = after
	}
	return p, nil
}

// next gives the cursor after a row; nil for 0, the end.
func (q query) next(id int64) *string {
	if id == 0 {
		return nil
	}
	s := q.c.IDs.Cursor(q.c.project, q.listName(), id)
	return &s
}

func (q query) listName() string {
	v := url.Values{}
	for name := range q.values {
		if s := q.get(name); s != "" && name != "cursor" && name != "limit" {
			v.Set(name, s)
		}
	}
	return q.c.r.URL.Path + "?" + v.Encode()
}

func (q query) time(name string) (time.Time, error) {
	s := q.get(name)
	if s == "" {
		return time.Time{}, nil
	}
	t, ok := parseTime(s)
	if !ok {
		return t, parameter(name, "%s is %s; it must be %s", name, fault.Quote(s), wantTime)
	}
	return t, nil
}

func (q query) bool(name string) (bool, error) {
	switch s := q.get(name); s {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, parameter(name, "%s is %s; it must be true or false", name, fault.Quote(s))
	}
}

// cut takes a page of limit out of rows that were asked for with one more, and gives where to go on.
func cut[T any](rows []T, limit int, id func(T) int64) ([]T, int64) {
	if len(rows) <= limit {
		return rows, 0
	}
	rows = rows[:limit]
	return rows, id(rows[limit-1])
}

// views turns rows into what is shown of them.
func views[T, V any](rows []T, view func(T) V) []V {
	v := make([]V, len(rows))
	for i, r := range rows {
		v[i] = view(r)
	}
	return v
}
