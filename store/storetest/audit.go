package storetest

import (
	"strings"
	"time"
)

var auditTests = []named{{"the watch sees what must never happen", watchSees}}

// watchSees breaks rows by hand: a watch that is blind would pass every store.
func watchSees(r *rig) {
	r.guilty = true
	r.queue("jobs")
	id := itoa(r.publish(bodies("jobs", 1)...)[0])
	r.one("jobs", time.Minute)
	if v := r.violations(); len(v) > 0 {
		r.Fatalf("before anything was broken: %q", v)
	}
	for _, c := range []struct{ set, seen string }{
		{"lease_no = lease_no + 2", "left out"},
		{"lease_no = lease_no - 1", "went back"},
		{"lease_no = lease_no + 1, receives = receives + 1", "live lease was received again"},
		{"lease_no = lease_no + 1", "not counted once"},
		{"receives = receives + 1", "grew without a receive"},
		{"receives = receives - 1", "given back without the end"},
		{"prio = prio + 1", "what never changes"},
		{"place = 7", "its place"},
		{"queue = queue + 1", "moved without a death"},
		{"dead_at = vis, source_queue = 99", "wrong place"},
	} {
		r.exec("UPDATE messages SET " + c.set + " WHERE id = " + id)
		if v := strings.Join(r.violations(), "; "); !strings.Contains(v, c.seen) {
			r.Errorf("%s: the watch saw %q, want %q", c.set, v, c.seen)
		}
		r.exec("DELETE FROM audit_violations")
	}
}
