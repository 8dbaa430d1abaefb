//go:build linux

package faults

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// H-L07 and H-Q20 on SQLite, whose database goes away when its disk is full: everything that was answered is on disk, and it goes on once there is room.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=24m"); err != nil {
		skip(t, "a small file system cannot be mounted here (%v); TestDiskFull of store/sqlite shows the same by a limit of its pages", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	filler := filepath.Join(dir, "filler")
	c, r := serve(t, "sqlite:"+filepath.Join(dir, "onceward.db")), receive(t, nil)
	full := false
	awayAndBack(t, c, r, size(2*time.Second, time.Minute), true, func() {
		full = fill(t, filler)
	}, func() {
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	})
	if !full {
		t.Error("the disk never was full")
	}
	if keys, most := r.effects(); most > 1 {
		t.Errorf("of %d keys one came %d times: an outcome waits for the disk, it is not made again", keys, most)
	}
}

// fill takes all the room that there is.
func fill(t *testing.T, file string) (full bool) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, block := range [][]byte{make([]byte, 1<<20), make([]byte, 4<<10)} {
		for {
			if _, err = f.Write(block); err != nil {
				break
			}
		}
	}
	return err != nil
}
