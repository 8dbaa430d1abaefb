package main

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

//go:embed completion
var scripts embed.FS

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (completionCmd) Help() string {
	return examples("completion bash >/etc/bash_completion.d/onceward", `completion zsh >"${fpath[1]}/_onceward"`,
		"completion fish >~/.config/fish/completions/onceward.fish") +
		"\n\nFor one session: source <(onceward completion bash). The script asks the program for what fits, so that it is never older than it."
}

func (c *completionCmd) Run(out output) error {
	b, err := scripts.ReadFile("completion/onceward." + c.Shell)
	if err != nil {
		return err
	}
	_, err = out.Write(b)
	return err
}

// completeWord is the hidden command that the shells' scripts call with the words so far, the last being the one to complete.
const completeWord = "__complete"

// complete prints what fits, a line each: the word, a tab, what it means. Nothing: the shell offers files.
func complete(out io.Writer, node *kong.Node, words []string) error {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "=" }) // bash makes it a word of its own
	last := ""
	if len(words) > 0 {
		words, last = words[:len(words)-1], words[len(words)-1]
	}
	var open *kong.Flag // wants the next word as its value
	arguments := 0
	for _, w := range words {
		switch {
		case open != nil:
			open = nil
		case strings.HasPrefix(w, "-"):
			if f := flagNamed(node, w); f != nil && !f.IsBool() && !strings.Contains(w, "=") {
				open = f
			}
		default:
			if child := childNamed(node, w); child != nil {
				node = child
			} else {
				arguments++
			}
		}
	}
	var fits []string
	offer := func(word, help string) {
		if strings.HasPrefix(word, last) {
			help, _, _ = strings.Cut(help, "\n")
			fits = append(fits, word+"\t"+help)
		}
	}
	name, _, ok := strings.Cut(last, "=")
	switch f := flagNamed(node, name); {
	case open != nil:
		values(open.Value, "", offer)
	case ok && f != nil:
		values(f.Value, name+"=", offer)
	case strings.HasPrefix(last, "-"):
		for _, group := range node.AllFlags(true) {
			for _, f := range group {
				offer("--"+f.Name, f.Help)
				if f.Tag.Negatable != "" {
					offer("--no-"+f.Name, f.Help)
				}
			}
		}
	case len(node.Children) > 0 && arguments == 0:
		for _, child := range node.Children {
			if !child.Hidden {
				offer(child.Name, child.Help)
			}
		}
	case arguments < len(node.Positional):
		values(node.Positional[arguments], "", offer)
	}
	for _, f := range fits {
		if _, err := fmt.Fprintln(out, f); err != nil {
			return err
		}
	}
	return nil
}

// values offers what a flag or an argument may be, if that is a short list.
func values(v *kong.Value, before string, offer func(word, help string)) {
	for _, e := range v.EnumSlice() {
		if e != "" {
			offer(before+e, "")
		}
	}
}

func flagNamed(node *kong.Node, word string) *kong.Flag {
	word, _, _ = strings.Cut(word, "=")
	for _, group := range node.AllFlags(false) {
		for _, f := range group {
			if word == "--"+f.Name || slices.Contains(f.Aliases, strings.TrimPrefix(word, "--")) || f.Short != 0 && word == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

func childNamed(node *kong.Node, word string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == word {
			return child
		}
	}
	return nil
}
