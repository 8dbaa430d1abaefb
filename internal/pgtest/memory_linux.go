package pgtest

import "golang.org/x/sys/unix"

// Memory is a folder in memory for clusters that need not reach a disk, if the machine has one with room; else none, which is the default of [Options].
func Memory() string {
	const shm, room = "/dev/shm", 4 << 30
	var s unix.Statfs_t
	if err := unix.Statfs(shm, &s); err != nil || s.Type != unix.TMPFS_MAGIC || s.Bavail*uint64(s.Bsize) < room || unix.Access(shm, unix.W_OK) != nil {
		return ""
	}
	return shm
}
