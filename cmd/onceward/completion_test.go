package main

import (
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	t.Parallel()
	parser, err := newParser()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ words, want string }{
		{"", "serve migrate receive verify bench queue endpoint event delivery ledger redrive project key account health completion version"},
		{"queue pub", "publish publish-batch"},
		{"queue stats --w", "--watch"},
		{"queue update jobs --no-", "--no-content-dedup --no-require-receipt"},
		{"queue create --vis", "--visibility"},
		{"delivery list --state f", "failed"},
		{"delivery list --state = f", "failed"}, // as bash has it
		{"delivery list --state=f", "--state=failed"},
		{"delivery resolve dlv_1 ", "delivered retry failed"},
		{"delivery resolve --note retry dlv_1 d", "delivered"},
		{"completion z", "zsh"},
		{"queue publish jobs ", ""},
		{"nonsense more ", ""},
	} {
		var b strings.Builder
		if err := complete(&b, parser.Model.Node, strings.Split(c.words, " ")); err != nil {
			t.Fatal(err)
		}
		var got []string
		for l := range strings.Lines(b.String()) {
			word, _, _ := strings.Cut(l, "\t")
			got = append(got, word)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%q: %q, want %q", c.words, s, c.want)
		}
	}
}
