package main

import (
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// nameVariables gives every flag an environment variable, which --help then names: ONCEWARD_, the command where the flag has
// not been given a shorter one, and the flag.
func nameVariables(k *kong.Kong) error {
	return kong.Visit(k.Model.Node, func(node kong.Visitable, next kong.Next) error {
		if n, ok := node.(*kong.Node); ok {
			for _, f := range n.Flags {
				if f.Name != "help" && len(f.Envs) == 0 {
					f.Envs = []string{variable(n, f.Name)}
					f.Value.Tag.Envs = f.Envs
				}
			}
		}
		return next(nil)
	})
}

func variable(n *kong.Node, flag string) string {
	parts := []string{flag}
	for ; n != nil && n.Parent != nil; n = n.Parent {
		parts = append([]string{n.Name}, parts...)
	}
	return "ONCEWARD_" + strings.ToUpper(strings.ReplaceAll(strings.Join(parts, "_"), "-", "_"))
}

// forgetEmpty takes empty variables for not set: a listener at "" would be one at every address.
func forgetEmpty() {
	for _, v := range os.Environ() {
		if name, value, _ := strings.Cut(v, "="); value == "" && strings.HasPrefix(name, "ONCEWARD_") {
			os.Unsetenv(name)
		}
	}
}
