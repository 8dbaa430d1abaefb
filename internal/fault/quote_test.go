package fault

import (
	"strings"
	"testing"
)

func TestQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                  `""`,
		"a\nb":                              `"a\nb"`,
		strings.Repeat("x", quoted):         `"` + strings.Repeat("x", quoted) + `"`,
		strings.Repeat("x", quoted+1):       `"` + strings.Repeat("x", quoted) + `"…`,
		strings.Repeat("x", quoted-1) + "é": `"` + strings.Repeat("x", quoted-1) + `"…`,
		strings.Repeat("\x80", 2*quoted):    `"` + strings.Repeat(`\x80`, quoted) + `"…`,
	} {
		if got := Quote(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
