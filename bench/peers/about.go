package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// about says what the figures of a file are of.
type about struct {
	Commit   string            `json:"commit"`
	When     string            `json:"when"`
	CPU      string            `json:"cpu"`
	Cores    int               `json:"cores"`
	Memory   int               `json:"memory_mib"`
	Kernel   string            `json:"kernel"`
	Disk     string            `json:"filesystem"`
	Versions map[string]string `json:"versions"`
	Settings settings          `json:"settings"`
}

func describe(ctx context.Context, s settings) (about, error) {
	a := about{When: time.Now().UTC().Format("2006-01-02 15:04"), Cores: runtime.NumCPU(), Settings: s, Versions: map[string]string{"go": runtime.Version()}}
	a.Commit = says("git", "describe", "--always", "--dirty=+", "--abbrev=7")
	a.Kernel = says("uname", "-sr")
	a.CPU = found("/proc/cpuinfo", `model name\s*:\s*(.+)`)
	fmt.Sscan(found("/proc/meminfo", `MemTotal:\s*(\d+)`), &a.Memory)
	a.Memory /= 1024
	dir, err := folder()
	if err != nil {
		return a, err
	}
	a.Disk = says("stat", "-f", "-c", "%T", dir)
	if url, drop, err := database(ctx); err == nil {
		defer drop()
		c, err := pgx.Connect(ctx, url)
		if err != nil {
			return a, err
		}
		a.Versions["PostgreSQL"] = c.PgConn().ParameterStatus("server_version")
		if err := c.Close(ctx); err != nil {
			return a, err
		}
	}
	for _, m := range strings.Split(says("go", "list", "-m", "-f", "{{.Path}} {{.Version}}", "github.com/riverqueue/river", "maragu.dev/goqite", "github.com/nats-io/nats-server/v2",
		"github.com/hibiken/asynq", "github.com/rabbitmq/amqp091-go", "github.com/jackc/pgx/v5", "modernc.org/sqlite"), "\n") {
		if path, version, ok := strings.Cut(m, " "); ok {
			a.Versions[path] = version
		}
	}
	if dirs, _ := filepath.Glob("/usr/lib/rabbitmq/lib/rabbitmq_server-*"); len(dirs) > 0 {
		_, a.Versions["RabbitMQ"], _ = strings.Cut(filepath.Base(dirs[0]), "-")
	}
	if m := regexp.MustCompile(`v=(\S+)`).FindStringSubmatch(says("redis-server", "--version")); m != nil {
		a.Versions["Redis"] = m[1]
	}
	if v := says("node", "--version"); v != "" {
		a.Versions["Node.js"] = v
		var p struct{ Dependencies map[string]string }
		text, err := os.ReadFile(filepath.Join(nodeFolder, "package.json"))
		if err == nil {
			err = json.Unmarshal(text, &p)
		}
		if err != nil {
			return a, err
		}
		for name, version := range p.Dependencies {
			a.Versions[name] = version
		}
	}
	return a, nil
}

// says gives what a command prints; nothing if it cannot.
func says(command string, args ...string) string {
	cmd := exec.Command(command, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// found gives the first that a pattern finds in a file.
func found(file, pattern string) string {
	text, _ := os.ReadFile(file)
	if m := regexp.MustCompile(pattern).FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}
