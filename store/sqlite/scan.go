package sqlite

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Times are INTEGER microseconds of Unix time; spans are REAL seconds; arrays and maps are JSON text. What is zero in Go and has no
// meaning as such is NULL.

// idList gives rows' ids as a statement reads them with json_each.
func idList(ids []int64) string {
	b := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	return string(append(b, ']'))
}

// at gives a time as it is stored; the zero time is NULL.
func at(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// orNull gives a row's number as it is stored where 0 means none.
func orNull(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// textOrNull gives a string as it is stored where "" means none.
func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// blobOrNull gives bytes as they are stored where nil means none.
func blobOrNull(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

func seconds(d time.Duration) float64 { return d.Seconds() }

// secondsOrNull gives a span as it is stored where 0 means none.
func secondsOrNull(d time.Duration) any {
	if d == 0 {
		return nil
	}
	return d.Seconds()
}

func fromSeconds(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

// asJSON gives a slice or a map as it is stored; an empty map or slice that is nil is NULL.
func asJSON(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if string(b) == "null" {
		return nil, nil
	}
	return string(b), nil
}

type scanFunc func(src any) error

func (f scanFunc) Scan(src any) error { return f(src) }

// toTime scans a stored time; NULL is the zero time.
func toTime(to *time.Time) sql.Scanner {
	return scanFunc(func(src any) error {
		switch v := src.(type) {
		case nil:
			*to = time.Time{}
		case int64:
			*to = time.UnixMicro(v).UTC()
		default:
			return fmt.Errorf("a time is stored as %T", src)
		}
		return nil
	})
}

// toSpan scans a stored span; NULL is 0.
func toSpan(to *time.Duration) sql.Scanner {
	return scanFunc(func(src any) error {
		switch v := src.(type) {
		case nil:
			*to = 0
		case float64:
			*to = fromSeconds(v)
		case int64:
			*to = time.Duration(v) * time.Second
		default:
			return fmt.Errorf("a span is stored as %T", src)
		}
		return nil
	})
}

// toText scans a stored string; NULL is "".
func toText(to *string) sql.Scanner {
	return scanFunc(func(src any) error {
		switch v := src.(type) {
		case nil:
			*to = ""
		case string:
			*to = v
		case []byte:
			*to = string(v)
		default:
			return fmt.Errorf("a text is stored as %T", src)
		}
		return nil
	})
}

// toInt scans a stored number; NULL is 0.
func toInt[T int | int64](to *T) sql.Scanner {
	return scanFunc(func(src any) error {
		switch v := src.(type) {
		case nil:
			*to = 0
		case int64:
			*to = T(v)
		default:
			return fmt.Errorf("a number is stored as %T", src)
		}
		return nil
	})
}

// toJSON scans stored JSON into to; NULL leaves it as it is.
func toJSON(to any) sql.Scanner {
	return scanFunc(func(src any) error {
		switch v := src.(type) {
		case nil:
			return nil
		case string:
			return json.Unmarshal([]byte(v), to)
		case []byte:
			return json.Unmarshal(v, to)
		}
		return fmt.Errorf("JSON is stored as %T", src)
	})
}

// maxDecoded is how many texts a session remembers.
const maxDecoded = 1000

// decoded gives what stored JSON says; of NULL, stored as "", the zero value. Few texts are read again and again, so the session
// remembers them: what it gives is shared, and is not to be changed.
func decoded[T any](s *session, text string) (v T, err error) {
	if text == "" {
		return v, nil
	}
	if v, ok := s.decoded[text].(T); ok {
		return v, nil
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return v, err
	}
	if len(s.decoded) >= maxDecoded {
		clear(s.decoded)
	}
	s.decoded[text] = v
	return v, nil
}

// found tells a missing row from an error.
func found(err error) (bool, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
