package api

import (
	"bytes"
	"encoding/json/v2"
	"mime"
	"net/http"
	"strings"

	"github.com/onceward/onceward/internal/fault"
)

// maxBody is the most bytes of a request.
const maxBody = 16 << 20

// strict refuses a member that the contract does not name. That a name is there once, that text is UTF-8 without lone
// surrogates, and that nothing follows the object is the decoder's own rule.
var strict = json.RejectUnknownMembers(true)

// decode reads the request's body into v, a pointer to a struct.
func (c *call) decode(v any) error { return c.read(v, false) }

// decodeOptional is decode for a call that needs nothing said: no body at all is an empty object.
func (c *call) decodeOptional(v any) error { return c.read(v, true) }

func (c *call) read(v any, optional bool) error {
	buf := getBuffer()
	defer putBuffer(buf)
	if err := c.readBody(buf); err != nil {
		return err
	}
	if err := c.identify(); err != nil {
		return err
	}
	if err := checkMedia(c.r.Header, buf.Len() == 0); err != nil {
		return err
	}
	if buf.Len() == 0 && optional {
		return nil
	}
	return decode(buf.Bytes(), v)
}

func tooLarge() error {
	return fault.New(fault.PayloadTooLarge, "the body has more than %d bytes, the most of a request", maxBody).WithHint("send a batch in parts")
}

// checkMedia refuses a body that does not call itself JSON in UTF-8.
func checkMedia(h http.Header, empty bool) error {
	given := h.Values("Content-Type")
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return fault.New(fault.UnsupportedMediaType, "Content-Encoding is %s; a body is sent as it is", fault.Quote(e)).WithHint("send it uncompressed, without the header")
	}
	if len(given) == 0 && empty {
		return nil
	}
	kind := strings.Join(given, ", ")
	media, params, err := mime.ParseMediaType(kind)
	charset := params["charset"]
	if err == nil && media == "application/json" && (charset == "" || strings.EqualFold(charset, "utf-8")) {
		return nil
	}
	if kind == "" {
		kind = "none"
	}
	return fault.New(fault.UnsupportedMediaType, "Content-Type is %s; a body is application/json in UTF-8", fault.Quote(kind)).WithHint("send Content-Type: application/json")
}

// decode reads a JSON object strictly. Every refusal is INVALID_ARGUMENT with the JSON pointer of what is wrong.
func decode(body []byte, v any) error {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if len(trimmed) == 0 {
		return fault.New(fault.InvalidArgument, "the body is empty; it must be a JSON object")
	}
	if err := json.Unmarshal(body, v, strict); err != nil {
		return decodeError(err, body)
	}
	if trimmed[0] != '{' { // null, which is no object and yet no error
		return fault.New(fault.InvalidArgument, "the body is %s; it must be a JSON object", fault.Quote(string(trimmed)))
	}
	return checkNUL(body)
}
