package canon

import (
	"bytes"
	"encoding/json/jsontext"

	"github.com/onceward/onceward/internal/fault"
)

// MaxDepth is the most levels of lists and objects in a payload or a result. Many readers of JSON, Go's among them, stop at 10,000: what an answer
// puts around it has room below that.
const MaxDepth = 9_900

// CheckDepth refuses a value of more than [MaxDepth] levels, by the field that it stands in. Whether it is JSON is not its business.
func CheckDepth(field string, v []byte) error {
	if bytes.Count(v, []byte("["))+bytes.Count(v, []byte("{")) <= MaxDepth {
		return nil // nearly all
	}
	dec := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true))
	for {
		if _, err := dec.ReadToken(); err != nil {
			return nil
		}
		if dec.StackDepth() > MaxDepth {
			return fault.Invalid(field, "%s has more than %d levels of lists and objects, the most of one", field[1:], MaxDepth).WithHint("send it flatter, or as a string")
		}
	}
}
