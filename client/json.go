package client

import (
	"bytes"
	plain "encoding/json"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// wire has durations as the contract has them: numbers of seconds.
var wire = json.JoinOptions(
	json.WithMarshalers(json.MarshalToFunc(func(e *jsontext.Encoder, d time.Duration) error {
		return e.WriteValue(strconv.AppendFloat(nil, d.Seconds(), 'f', -1, 64))
	})),
	json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, v *time.Duration) error {
		raw, err := d.ReadValue()
		if err != nil || raw.Kind() == 'n' {
			return err
		}
		s, err := strconv.ParseFloat(string(raw), 64)
		if err != nil {
			return fmt.Errorf("%s is no number of seconds", raw)
		}
		*v = time.Duration(math.Round(s*1e6)) * time.Microsecond
		return nil
	})),
)

// encode writes a body; one that is JSON already goes out as it is.
func encode(v any) ([]byte, error) {
	if raw, ok := v.(jsontext.Value); ok {
		return raw, nil
	}
	return json.Marshal(v, wire)
}

// member is one more member of an object, its value as it goes out.
type member struct {
	name  string
	value []byte
}

// with marshals v to an object and adds members to it without touching a byte of their values: an encoder would take out the spaces of a payload,
// and a signature over it would then fail.
func with(v any, more ...member) (jsontext.Value, error) {
	b, err := json.Marshal(v, wire)
	if err != nil {
		return nil, err
	}
	b = bytes.TrimSuffix(b, []byte("}"))
	for _, m := range more {
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, m.name), ':')
		b = append(b, m.value...)
	}
	return append(b, '}'), nil
}

// payloadOf gives a payload's bytes: a [jsontext.Value], which a json.RawMessage is, as it is; else what v marshals to by the rules that its own
// program knows, those of encoding/json.
func payloadOf(v any) (member, error) {
	var raw []byte
	switch v := v.(type) {
	case nil:
		return member{}, errors.New(`the payload is nil: if JSON's null is meant, say jsontext.Value("null")`)
	case jsontext.Value:
		if !v.IsValid() {
			return member{}, fmt.Errorf("the payload is not JSON: %.80s", v)
		}
		raw = v
	default:
		var err error
		if raw, err = plain.Marshal(v); err != nil {
			return member{}, err
		}
	}
	return member{"payload", raw}, nil
}
