package main

import (
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/alecthomas/kong"
)

// left says that the parser would have ended the program.
type left struct{}

// FuzzArgs: whatever is typed, neither the parser nor the completion panics, and what is wrong with it is said in one line. A zero stands between the words, since no
// word can have one.
func FuzzArgs(f *testing.F) {
	for _, line := range []string{
		"", "--help", "version --json", "serve --grace soon", "serve --grace 5s --listen 127.0.0.1:0", "serve --send-concurrency -1", "nonsense", "queue", "queue publish jobs {\"n\":1} --key job-1",
		"queue stats --watch=0", "queue update jobs --no-content-dedup", "event list --limit 99999999999999999999", "delivery list --state=f", "delivery resolve dlv_1 retried", "verify --kills 1 --for 1y",
		"key create --expires soon", "account limit --credit 1e400", "completion fish", "-", "--", "--=", "-hhh", "--help=maybe",
	} {
		f.Add(strings.ReplaceAll(line, " ", "\x00"))
	}
	f.Add("queue\x00stats\x00jobs\x00a second\nand a third\x1b[2J")
	f.Add("serve\x00--grace=\xff\n")
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, "\x00")
		p, err := newParser()
		if err != nil {
			t.Fatal(err)
		}
		p.Stdout, p.Stderr, p.Exit = io.Discard, io.Discard, func(int) { panic(left{}) }
		if err := parse(p, words); err != nil {
			if said := mistyped(err).Error(); said == "" || strings.ContainsFunc(said, unicode.IsControl) {
				t.Errorf("%q: the error is not one line: %q", words, said)
			}
		}
		if err := complete(io.Discard, p.Model.Node, words); err != nil {
			t.Errorf("%q: completion: %v", words, err)
		}
	})
}

// parse is Parse, to which --help is no error.
func parse(p *kong.Kong, words []string) (err error) {
	defer func() {
		if r := recover(); r != nil && r != (left{}) {
			panic(r)
		}
	}()
	_, err = p.Parse(words)
	return err
}
