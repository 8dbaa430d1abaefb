//go:build linux

package faults

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/pgtest"
)

// bouncer starts PgBouncer before a database, and gives the URL of the database through it.
func bouncer(t testing.TB, db *pgtest.Cluster, mode string) string {
	t.Helper()
	bin, err := exec.LookPath("pgbouncer")
	if err != nil {
		skip(t, "PgBouncer is not here. On Debian or Ubuntu: apt-get install -y pgbouncer")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	dir := t.TempDir()
	conf := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(conf, fmt.Appendf(nil, `[databases]
postgres = host=127.0.0.1 port=%d user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = %s
default_pool_size = 20
max_client_conn = 200
`, db.Port(), port, mode), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, conf)
	if os.Geteuid() == 0 { // which it refuses
		u, err := user.Lookup("nobody")
		if err != nil {
			skip(t, "PgBouncer refuses to run as root, and there is no user nobody")
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		for d := dir; d != "/tmp" && d != "/"; d = filepath.Dir(d) {
			os.Chmod(d, 0o755)
		}
	}
	said := &text{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("PgBouncer wrote: %.4000s", said)
		}
	})
	eventually(t, 20*time.Second, "PgBouncer listens", func() bool {
		c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
}

// H-Q30: a pooler is between the servers and PostgreSQL, and pools sessions or transactions.
func TestChaosPooler(t *testing.T) {
	t.Parallel()
	for _, mode := range size([]string{"transaction"}, []string{"session", "transaction"}) {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := startChaos(t, bouncer(t, cluster(t), mode)+"&pool_max_conns=6", 2)
			c.more(60)
			c.rest()
		})
	}
}
