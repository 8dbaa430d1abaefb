package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"github.com/onceward/onceward/queue"
)

const childEnv = "ONCEWARD_SQLITE_TEST_CHILD"

// TestChild is no test: it is the process that TestKillLosesNothing kills. It prints each id after it was answered.
func TestChild(t *testing.T) {
	file := os.Getenv(childEnv)
	if file == "" {
		return // nothing to do in the parent
	}
	db, err := Open(t.Context(), file, Options{})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	if _, err := db.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "q"}); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				p, err := db.Publish(context.Background(), queue.Publish{Project: 1, Queue: "q", Body: []byte(`{"n":1}`)})
				if err != nil || p[0].Err != nil {
					fmt.Println("error:", err, p)
					os.Exit(1)
				}
				fmt.Println(p[0].ID)
			}
		})
	}
	wg.Wait()
}

// A process killed in the midst of commits loses nothing that it answered, and its lock goes with it.
func TestKillLosesNothing(t *testing.T) {
	t.Parallel()
	file := tempFile(t)
	answered := map[int64]bool{}
	for range 3 {
		c := exec.Command(os.Args[0], "-test.run=^TestChild$")
		c.Env = append(os.Environ(), childEnv+"="+file)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			id, err := strconv.ParseInt(lines.Text(), 10, 64)
			if err != nil {
				t.Fatal(lines.Text())
			}
			if answered[id] {
				t.Errorf("id %d was given twice", id)
			}
			answered[id] = true
			if n == 300 {
				c.Process.Kill()
			}
		}
		c.Wait()
	}
	db := open(t, file)
	var check string
	if err := db.writer.row("PRAGMA integrity_check").Scan(&check); err != nil || check != "ok" {
		t.Error(check, err)
	}
	for id := range answered {
		if _, ok, err := (&tx{session: db.writer, db: db}).messageByID(id); err != nil || !ok {
			t.Errorf("message %d was answered and is gone (%v)", id, err)
		}
	}
	if len(answered) < 900 {
		t.Errorf("only %d messages were answered", len(answered))
	}
}
