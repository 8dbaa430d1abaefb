package fault

import (
	"strconv"
	"unicode/utf8"
)

// quoted is the most bytes of a client's value that a sentence repeats.
const quoted = 80

// Quote gives a client's value for a sentence: quoted, and no more than its beginning.
func Quote(s string) string {
	if c := Clip(s, quoted); c != s {
		return strconv.Quote(c) + "…"
	}
	return strconv.Quote(s)
}

// Clip gives at most the first n bytes of s, cut between two characters: half a character is no text, and a database refuses it.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for at := n; at > n-utf8.UTFMax && at >= 0; at-- {
		if utf8.RuneStart(s[at]) {
			return s[:at]
		}
	}
	return s[:n] // no text anyway
}
