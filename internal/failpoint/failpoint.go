// Package failpoint stops a process at a named instant of its work, so that `onceward verify` can kill it there or wake it later. It does so in programs built
// with the tag failpoints alone; in all others [At] is empty, and the compiler leaves nothing of it.
//
// The process is told by ONCEWARD_FAIL_AT where: `before the commit: publish|commitPublishes`, a place and the names of what is done there, any of which will do.
// The first time that it comes there it writes the file ONCEWARD_FAIL_FILE and stops as by SIGSTOP.
package failpoint

// The places.
const (
	BeforeCommit    = "before the commit"
	AfterCommit     = "after the commit"
	BeforeAnswer    = "before the answer"
	BeforeFirstByte = "before the first byte"
	FirstByteSent   = "first byte sent"
	RequestSent     = "request sent"
	ReplyRead       = "reply read"
	ReplyLost       = "reply lost" // of a call that a worker makes, by its path
	Work            = "work"       // between a worker's calls
)

// The variables that a server is told its point by.
const (
	AtVariable   = "ONCEWARD_FAIL_AT"
	FileVariable = "ONCEWARD_FAIL_FILE"
)

// ClockVariable names a file that says in seconds how far the clock of a store that is in the process's own hands is from the machine's: see [Clock].
const ClockVariable = "ONCEWARD_CLOCK_FILE"
