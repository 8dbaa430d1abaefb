package main

import (
	"fmt"
	"runtime/debug"
)

type versionCmd struct{ printer }

func (versionCmd) Help() string { return examples("version", "version --json") }

func (c *versionCmd) Run(out output) error {
	if c.JSON {
		return printJSON(out, object{"version": version()})
	}
	_, err := fmt.Fprintln(out, "onceward", version())
	return err
}

// version is the module's as the linker knows it, else the commit's.
func version() string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := b.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range b.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel " + s.Value[:12]
		}
	}
	return "devel"
}
