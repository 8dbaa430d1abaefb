package queue

import (
	"strings"
	"testing"
)

// A name is refused with the limit that holds for it: a dead-letter queue's may be four longer.
func TestNamesOfQueues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		length        int
		named, making string // what the refusal says; "" none
	}{
		{76, "", ""},
		{77, "", "1 to 76"},
		{80, "", "1 to 76"},
		{81, "1 to 80", "1 to 76"},
	} {
		name := strings.Repeat("q", c.length)
		refused := func(what, says string, err error) {
			if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
				t.Errorf("%s of %d characters: %v, want %q", what, c.length, err, says)
			}
		}
		refused("a name", c.named, CheckName("/queue", name))
		refused("the making of one", c.making, (&Spec{Name: name}).Check())
	}
}
