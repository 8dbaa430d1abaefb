package api

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/onceward/onceward/internal/fault"
)

// decodeError says what is wrong with a body: where, the value, and what it must be.
func decodeError(err error, body []byte) error {
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		field := pointerOf(e.JSONPointer)
		name := lastName(field)
		switch {
		case errors.Is(e.Err, json.ErrUnknownName):
			return fault.Invalid(field, "%s is not a field of this call", fault.Quote(name))
		case field == "":
			return fault.Invalid("", "the body is %s; it must be a JSON object", valueAt(e, body))
		}
		want := expected(e.GoType)
		if w, ok := errors.AsType[wanted](e.Err); ok {
			want = string(w)
		}
		return fault.Invalid(field, "%s is %s; it must be %s", name, valueAt(e, body), want)
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fault.Invalid(pointerOf(e.JSONPointer), "the body is not JSON as we take it: %s, at byte %d", syntax(e.Err), e.ByteOffset)
	}
	return fault.New(fault.InvalidArgument, "the body cannot be read as JSON").Wrap(err)
}

// wanted is the error of a type's own decoding: what its value must be.
type wanted string

func (w wanted) Error() string { return string(w) }

func valueError(v jsontext.Value, want wanted) error {
	return &json.SemanticError{JSONValue: v.Clone(), Err: want}
}

func syntax(err error) string {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return "a name is there twice"
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends too early"
	}
	s := strings.ToValidUTF8(fmt.Sprint(err), "\ufffd")
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}

// pointerOf bounds a pointer: a hostile body can make one of any length.
func pointerOf(p jsontext.Pointer) string {
	s := strings.ToValidUTF8(string(p), "\ufffd")
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}

// lastName gives a field's own name; of a place in a list, the list's with it.
func lastName(field string) string {
	i := strings.LastIndexByte(field, '/')
	name := field[i+1:]
	if _, err := strconv.ParseUint(name, 10, 64); err == nil && i > 0 {
		return lastName(field[:i]) + "/" + name
	}
	return name
}

func expected(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return "of another type"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "of another type"
}

// valueAt gives the value that an error is about, as the client wrote it and not too much of it.
func valueAt(e *json.SemanticError, body []byte) string {
	v := e.JSONValue
	if len(v) == 0 {
		from := min(max(0, int(e.ByteOffset)), len(body))
		rest := bytes.TrimLeft(body[from:], " \t\r\n:,")
		v, _ = jsontext.NewDecoder(bytes.NewReader(rest)).ReadValue()
	}
	if len(v) == 0 {
		return "of another type"
	}
	return clipped80(v)
}

// clipped80 gives the beginning of a value, as the client wrote it.
func clipped80(v jsontext.Value) string {
	s := strings.ToValidUTF8(string(v), "\ufffd")
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

// checkNUL refuses the character U+0000 in every text but a payload or a result: a database cannot keep it in one. It can only come
// escaped, since a bare one is no JSON.
func checkNUL(body []byte) error {
	if !bytes.Contains(body, []byte(`\u0000`)) {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	for {
		t, err := dec.ReadToken()
		if err != nil {
			return nil // the end: the body was valid
		}
		if t.Kind() != '"' || !strings.Contains(t.String(), "\x00") {
			continue
		}
		if p := dec.StackPointer(); !inPayload(p) {
			field := pointerOf(p)
			return fault.Invalid(field, "%s has the character U+0000, which no text can have", fault.Quote(lastName(field)))
		}
	}
}

func inPayload(p jsontext.Pointer) bool {
	s := string(p)
	if rest, ok := strings.CutPrefix(s, "/messages/"); ok {
		if _, s, ok = strings.Cut(rest, "/"); !ok {
			return false
		}
		s = "/" + s
	}
	for _, name := range []string{"/payload", "/body", "/result"} {
		if rest, ok := strings.CutPrefix(s, name); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}
