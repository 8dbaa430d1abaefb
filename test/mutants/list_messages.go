package main

// ofMessages are the guards of leases, receipts, counts and publish keys.
var ofMessages = []mutant{
	{
		id: "receipt-number", holds: "I2, H-Q01", out: "only the newest receipt acts",
		edits:  []edit{{file: "queue/rules.go", old: "if s.Lease != 0 && (s.Lease != r.Lease || !r.Open) {", new: "if s.Lease != 0 && !r.Open {"}},
		caught: suite("settle", "I2, H-Q01: an older receipt changes nothing and is told so", "by lease 1: applied true"),
	},
	{
		id: "receipt-open", holds: "I2", out: "a receipt ends with its first nack or release",
		edits: []edit{
			{file: "queue/rules.go", old: "if s.Lease != 0 && (s.Lease != r.Lease || !r.Open) {", new: "if s.Lease != 0 && s.Lease != r.Lease {"},
			{file: "queue/rules.go", old: "\tif !r.Open {\n\t\treturn Settled{Reason: NotInFlight}, Change{}\n\t}\n", new: ""},
		},
		caught: suite("settle", "I2: a receipt ends with nack and release", "by lease 1: applied true"),
	},
	{
		id: "receipt-required", holds: "I2", out: "a queue that requires receipts takes no message id instead",
		edits: []edit{
			{file: "store/sqlite/settle.go", old: "if s.Lease == 0 && q.RequireReceipt {", new: "if s.Lease < 0 && q.RequireReceipt {"},
			{file: "store/postgres/settle.go", old: "if s.Lease == 0 && q.requireReceipt {", new: "if s.Lease < 0 && q.requireReceipt {"},
		},
		caught: suite("settle", "by id is refused where the queue requires receipts", "by id: , want INVALID_ARGUMENT"),
	},
	{
		id: "lease-holds", holds: "I2", out: "a receive passes by what is leased",
		edits: []edit{
			{file: "store/sqlite/sql/receive_plain.sql", old: "AND vis <= ?2 AND", new: "AND ?2 > 0 AND", times: 10},
			{file: "store/postgres/sql/receive_plain.sql", old: "vis >= o.low AND vis <= now() AND", new: "vis >= o.low AND"},
		},
		caught: suite("receive", "I2: a leased message is not handed out again before its lease is over", `of "jobs", want nothing`),
	},
	{
		id: "lapse-end", holds: "I2", out: "a lease is over at its end, not after it",
		edits:  []edit{{file: "queue/rules.go", old: "if !r.Leased || r.VisibleAt.After(now) || !r.DeadAt.IsZero() {", new: "if !r.Leased || !r.VisibleAt.Before(now) || !r.DeadAt.IsZero() {"}},
		caught: alone("queue", "TestLapseAtItsEnd", "not lapsed at its end"),
	},
	{
		id: "receive-bytes", holds: "I1", out: "a receive ends at its bytes",
		edits: []edit{
			{file: "store/sqlite/receive.go", old: "h.bytes > queue.MaxReceiveBytes && len(h.out) > 0", new: "h.bytes > 100*queue.MaxReceiveBytes && len(h.out) > 0"},
			{file: "store/postgres/sql/receive_plain.sql", old: "WHERE n = 1 OR total <= 8388608", new: "WHERE n = 1 OR total > 0"},
		},
		caught: suite("receive", "a receive ends early at its bytes, and one always goes", "bytes in one receive"),
	},
	{
		id: "rounds-bytes", holds: "I1", out: "a receive's later look at groups has what the first left of its bytes (on SQLite that is receive-bytes)",
		edits:  []edit{{file: "store/postgres/sql/receive_group.sql", old: "sum(s.size) OVER w + $6::bigint AS total", new: "sum(s.size) OVER w AS total"}},
		caught: suiteOn(onPostgres, "receive", "a receive of many groups ends at the same bytes", "bytes of groups in one receive"),
	},
	{
		id: "list-snapshot", holds: "I2", out: "a list of messages is of one moment (on SQLite it is one read of the file)",
		edits:  []edit{{file: "store/postgres/lists.go", old: "IsoLevel: pgx.RepeatableRead, AccessMode", new: "AccessMode"}},
		caught: []catch{{onPostgres, "store/postgres", "TestListIsOfOneMoment", "are listed, want the 3"}},
	},
	{
		id: "list-bytes", holds: "I1", out: "a page of messages ends at its bytes",
		edits: []edit{
			{file: "store/sqlite/list.go", old: "bytes > queue.MaxReceiveBytes {", new: "bytes > 100*queue.MaxReceiveBytes {"},
			{file: "store/postgres/lists.go", old: "bytes+size > queue.MaxReceiveBytes {", new: "bytes+size > 100*queue.MaxReceiveBytes {"},
		},
		caught: suite("queues", "a page of messages ends at its bytes, and goes on", "bytes in one page"),
	},
	{
		id: "receive-counts", holds: "I3", out: "a receive is counted",
		edits: []edit{
			{file: "queue/rules.go", old: "\tif r.counts() {\n\t\tr.Receives++\n\t}\n", new: ""},
			{file: "store/postgres/sql/receive_plain.sql", old: "receives = m.receives + (m.dead_at IS NULL AND m.max_receives <> 32767)::int, ", new: ""},
		},
		caught: suite("dead letters", "I3, H-Q03: its last lease over it is dead-lettered by a sweep, never received again", "count: 0, want 2"),
	},
	{
		id: "grouped-receive-counts", holds: "I3", out: "a receive of a group is counted (on SQLite that is receive-counts)",
		edits:  []edit{{file: "store/postgres/sql/receive_group.sql", old: "receives = m.receives + (m.dead_at IS NULL AND m.max_receives <> 32767)::int, ", new: ""}},
		caught: suiteOn(onPostgres, "dead letters", "I3, H-Q03: its last lease over it is dead-lettered by a sweep, never received again", "count: 0, want 2"),
	},
	{
		id: "max-receives", holds: "I3, H-Q03", out: "what was received as often as it may be is not received again",
		edits: []edit{
			{file: "store/sqlite/sql/receive_plain.sql", old: "(receives < max_receives OR dead_at IS NOT NULL)", new: "true", times: 10},
			{file: "store/postgres/sql/receive_plain.sql", old: "(receives < max_receives OR dead_at IS NOT NULL)", new: "true"},
		},
		caught: suite("dead letters", "I3, H-Q03: its last lease over it is dead-lettered by a sweep, never received again", `of "jobs", want nothing`),
	},
	{
		id: "last-nack-kills", holds: "I3", out: "a nack in the last try dead-letters",
		edits:  []edit{{file: "queue/rules.go", old: "if (s.DeadLetter || r.lastTry()) && r.counts() {", new: "if s.DeadLetter && r.counts() {"}},
		caught: suite("dead letters", "I3: nacked for the last time it is dead-lettered", "status: available, want dead"),
	},
	{
		id: "list-clock", holds: "I14", out: "what a list shows of a message is by the database's clock",
		edits:  []edit{{file: "api/queue_view.go", old: "return m.Status(m.LookedAt)", new: "return m.Status(time.Now())"}},
		caught: alone("api", "TestStatusIsByTheDatabasesClock", "by the database's clock they are"),
	},
	{
		id: "dlq-last-error", holds: "I3", out: "a nack in a DLQ leaves the last error of what was published there",
		edits:  []edit{{file: "queue/rules.go", old: "if s.Error != \"\" && r.counts() {", new: "if s.Error != \"\" && r.DeadAt.IsZero() {"}},
		caught: append(alone("queue", "TestNackInADLQLeavesTheLastError", "published there: applied true, last error"), suite("dead letters", "a DLQ counts nothing and forgets nothing", "error of what was published there: another")...),
	},
	{
		id: "release-gives-back", holds: "I3", out: "a release gives the count back",
		edits:  []edit{{file: "queue/rules.go", old: "\t\tif r.counts() {\n\t\t\tr.Receives--\n\t\t}\n", new: ""}},
		caught: suite("settle", "I3: a release gives the count back", "count: 1, want 0"),
	},
	{
		id: "twelve-hours", holds: "I2, I16", out: "no lease goes on for more than 12 hours",
		edits:  []edit{{file: "queue/rules.go", old: "\tif r.VisibleAt.After(end) {\n\t\tr.VisibleAt = end\n\t}\n", new: ""}},
		caught: suite("extend", "extend goes no further than 12 hours after the receive", "past 12 hours after the receive"),
	},
	{
		id: "retention-in-flight", holds: "I1", out: "what is in flight outlives its retention",
		edits: []edit{
			{file: "store/sqlite/sql/message_expired.sql", old: " AND NOT (leased = 1 AND vis > ?3)", new: ""},
			{file: "store/postgres/sql/sweep_expired.sql", old: " AND (NOT leased OR vis <= now())", new: ""},
			{file: "store/postgres/sweep_pages.go", old: "if r.ExpiresAt.After(tx.now) || r.Leased && r.VisibleAt.After(tx.now) {", new: "if r.ExpiresAt.After(tx.now) {"},
		},
		caught: suite("retention", "a message in flight outlives its retention until its lease ends", "messages: 0, want 2"),
	},
	{
		id: "delay-below-retention", holds: "I1", out: "a delay as long as the retention is too long",
		edits: []edit{
			{file: "queue/refuse.go", old: "if p.Delay < retention {", new: "if p.Delay <= retention {"},
			{file: "store/postgres/sql/publish.sql", old: "delay >= q.retention_s", new: "delay > q.retention_s"},
			{file: "store/postgres/sql/publish_one.sql", old: "($5::float8[])[1]) >= q.retention_s", new: "($5::float8[])[1]) > q.retention_s"},
		},
		caught: suite("publish", "a delay at or past the retention is refused", "24h0m0s: , want INVALID_ARGUMENT"),
	},
	{
		id: "publish-key", holds: "I4", out: "a publish key is unique",
		edits: []edit{
			{file: "store/sqlite/publish.go", old: "\tcase !until.After(t.now):\n", new: "\tcase !until.IsZero():\n"},
			{file: "store/postgres/sql/publish.sql", old: "(SELECT o.expires_at > now() FROM publish_keys o", new: "(SELECT o.expires_at IS NULL FROM publish_keys o"},
			{file: "store/postgres/sql/publish.sql", old: "    WHERE t.expires_at <= now()\n", new: ""},
			{file: "store/postgres/sql/publish_one.sql", old: "    WHERE t.expires_at <= now()\n", new: ""},
		},
		caught: suite("publish", "I4: a key known answers the first id", "replay: false, want true"),
	},
	{
		id: "publish-key-hash", holds: "I4, H-L17", out: "a publish key stands for one content",
		edits:  []edit{{file: "queue/refuse.go", old: "\tif bytes.Equal(hash, p.Hash) {\n", new: "\tif bytes.Equal(hash, p.Hash) || p.Key != \"\" {\n"}},
		caught: suite("publish", "I4, H-L17: a key with another content is refused and stores nothing", "want IDEMPOTENCY_KEY_REUSED"),
	},
	{
		id: "publish-key-window", holds: "I4, H-Q07", out: "a publish key's window ends",
		edits: []edit{
			{file: "store/sqlite/publish.go", old: "\tcase !until.After(t.now):\n", new: "\tcase until.IsZero():\n"},
			{file: "store/postgres/sql/publish.sql", old: "(SELECT o.expires_at > now() FROM publish_keys o", new: "(SELECT o.expires_at IS NOT NULL FROM publish_keys o"},
			{file: "store/postgres/sql/publish_one.sql", old: "WHERE t.expires_at <= now()", new: "WHERE t.expires_at IS NULL"},
			{file: "store/postgres/sql/publish_known.sql", old: "WHERE k.expires_at > now()", new: "WHERE k.expires_at IS NOT NULL"},
		},
		caught: suite("publish", "I4, H-Q07: a window is fixed, and a duplicate does not extend it", "after the window: replay true"),
	},
	{
		id: "publish-key-swept", holds: "I4", out: "a sweep forgets no publish key in its window",
		edits: []edit{
			{file: "store/sqlite/sql/publish_key_sweep.sql", old: "WHERE expires_at <= ? ORDER BY", new: "WHERE expires_at > ? - 1000000000000000 ORDER BY"},
			{file: "store/postgres/sql/sweep_publish_keys.sql", old: "WHERE expires_at <= now() ORDER BY", new: "WHERE expires_at IS NOT NULL ORDER BY"},
			{file: "store/postgres/sql/sweep_due.sql", old: "FROM publish_keys WHERE expires_at <= now()", new: "FROM publish_keys"},
		},
		caught: suite("retention", "what is not due to go stays", "keys: 0, want 1"),
	},
	{
		id: "request-hash", holds: "H-L17", out: "a request key stands for one request",
		edits:  []edit{{file: "idempotency/again.go", old: "\tif bytes.Equal(hash, r.Hash) {\n", new: "\tif bytes.Equal(hash, r.Hash) || r.Key != \"\" {\n"}},
		caught: suite("requests", "the same key with another request is refused", "code: , want IDEMPOTENCY_KEY_REUSED"),
	},
	{
		id: "request-key", holds: "H-L16", out: "a request key is unique",
		edits: []edit{
			{file: "store/sqlite/once.go", old: "\tcase !until.After(t.now):\n", new: "\tcase !until.IsZero():\n"},
			{file: "store/postgres/sql/once_take.sql", old: "\n  WHERE t.expires_at <= now()", new: ""},
		},
		caught: suite("requests", "a request's answer is given again, its effect once", "effects: 3, want 1"),
	},
	{
		id: "request-key-window", holds: "I4", out: "a request key's window ends",
		edits: []edit{
			{file: "store/sqlite/once.go", old: "\tcase !until.After(t.now):\n", new: "\tcase until.IsZero():\n"},
			{file: "store/postgres/sql/once_take.sql", old: "WHERE t.expires_at <= now()", new: "WHERE t.expires_at IS NULL"},
			{file: "store/postgres/sql/once_known.sql", old: " AND expires_at > now()", new: ""},
		},
		caught: suite("requests", "an answer survives a restart, and goes with its window", "was used for another request"),
	},
	{
		id: "event-hash", holds: "I4", out: "an event id stands for one content",
		edits:  []edit{{file: "webhook/record.go", old: "\tif bytes.Equal(hash, n.Hash) {\n", new: "\tif bytes.Equal(hash, n.Hash) || n.EventID != \"\" {\n"}},
		caught: suite("events", "an event id with other content is refused", "reused: false, want true"),
	},
	{
		id: "empty-rests", holds: "H-Q12", out: "a receive that waits and found nothing does not look in full at once where that is slow (on SQLite there are no marks)",
		edits:  []edit{{file: "store/postgres/receive.go", old: " && !r.Waits {", new: " {"}},
		caught: []catch{{onPostgres, "store/postgres", "TestEmptyReceivesRest", "looked in full just after"}},
	},
	{
		id: "lapse-locked", holds: "H-Q24, I16", out: "the mark of leases' ends stays before one that is locked (on SQLite there are no marks)",
		edits:  []edit{{file: "store/postgres/sql/lapse.sql", old: "ORDER BY vis LIMIT 1), now())", new: "ORDER BY vis LIMIT 0), now())"}},
		caught: []catch{{onPostgres, "store/postgres", "TestLapseOfALockedMessage", "once the lock of one was gone"}},
	},
	{
		id: "lapse-in-full", holds: "I16", out: "leases' ends are looked for in full every few seconds, however slow that is (on SQLite there are no marks)",
		edits:  []edit{{file: "store/postgres/low.go", old: "min(100*l.took, most)", new: "100*l.took"}},
		caught: []catch{{onPostgres, "store/postgres", "TestLeasesAreSearchedInFull", "the next begins at the mark"}},
	},
	{
		id: "fold-in-full", holds: "I16", out: "deltas of counts are added up from the first every few seconds, whatever the mark says (on SQLite there are no marks)",
		edits:  []edit{{file: "store/postgres/sweep.go", old: "		return 0\n\t}\n\treturn m.trailing()", new: "		return m.trailing()\n\t}\n\treturn m.trailing()"}},
		caught: []catch{{onPostgres, "store/postgres", "TestFoldsBeginAtAMark", "behind the mark are left"}},
	},
	{
		id: "fold-seen", holds: "I16", out: "deltas that a sweep sees are added up within seconds (on SQLite there are none)",
		edits:  []edit{{file: "store/postgres/sweep.go", old: "if seen || s.counts", new: "if s.counts"}},
		caught: []catch{{onPostgres, "store/postgres", "TestFoldsRest", "it was a second ago: folded false"}},
	},
	{
		id: "last-tries-due", holds: "I16", out: "a sweep's look tells of last tries whose leases ran out (on SQLite the sweep looks for them alone)",
		edits:  []edit{{file: "store/postgres/sql/sweep_due.sql", old: "vis <= now() AND receives >= max_receives),", new: "vis <= now() AND false),"}},
		caught: []catch{{onPostgres, "store/postgres", "TestSweepGoesOnAfterHeldOnes", "are dead-lettered, want the one that nobody holds"}},
	},
	{
		id: "low-back", holds: "I16", out: "the mark of due messages comes back to what a filled look found behind it (on SQLite there are no marks)",
		edits:  []edit{{file: "store/postgres/low.go", old: "case filled && i == last && d.Before(m.due[i]):", new: "case false:"}},
		caught: []catch{{onPostgres, "store/postgres", "TestDueMarksComeBack", "a filled look found"}},
	},
	{
		id: "due-alone", holds: "H-Q12", out: "one looks in full at a time, where that is slow (on SQLite there are no marks)",
		edits:  []edit{{file: "store/postgres/low.go", old: "\tif to == inFull {\n\t\tm.looked = now\n", new: "\tif to > inFull {\n\t\tm.looked = now\n"}},
		caught: []catch{{onPostgres, "store/postgres", "TestDueMarksAreLookedBehind", "two at once look in full"}},
	},
	{
		id: "due-full", holds: "I16", out: "due messages are looked for in full every few seconds, whatever the mark says (on SQLite there are no marks)",
		edits:  []edit{{file: "store/postgres/low.go", old: "if again || m.wanted(dueFrom, dueFull) {", new: "if again {"}},
		caught: []catch{{onPostgres, "store/postgres", "TestDueMarksAreLookedBehind", "16 s after the last full look"}},
	},
	{
		id: "due-passes", holds: "I16", out: "a look that was filled says nothing of priorities behind the last that it reached (on SQLite there are no marks)",
		edits:  []edit{{file: "store/postgres/low.go", old: "if i < last || !filled {", new: "if i <= last || !filled {"}},
		caught: []catch{{onPostgres, "store/postgres", "TestDueMarksPassPriorities", "the mark of priority 5"}},
	},
	{
		id: "due-steps", holds: "I16", out: "looks go further behind the mark, once they have rested (on SQLite there are no marks)",
		edits:  []edit{{file: "store/postgres/low.go", old: "\t\t\t\tto = reach(k)\n", new: ""}},
		caught: []catch{{onPostgres, "store/postgres", "TestDueMarks", "has rested"}},
	},
	{
		id: "due-overtaken", holds: "I16", out: "a look that began before the mark of due messages came back does not move it on (on SQLite there are no marks)",
		edits:  []edit{{file: "store/postgres/low.go", old: " && !began.Before(m.back):", new: ":"}},
		caught: []catch{{onPostgres, "store/postgres", "TestDueMarksComeBack", "a look that began before"}},
	},
	{
		id: "due-undone", holds: "I16", out: "what a transaction received that may yet be undone moves no mark of due messages on (on SQLite there are no marks)",
		edits:  []edit{{file: "store/postgres/receive.go", old: "\tif db.carried(ctx) == nil {\n\t\tdb.lows.saw", new: "\tif true {\n\t\tdb.lows.saw"}},
		caught: []catch{{onPostgres, "store/postgres", "TestDueMarksOfATransaction", "were moved by what was undone"}},
	},
	{
		id: "plan-receive", holds: "H-Q12", out: "a receive finds what it hands out by its id, however few rows the planner counts (on SQLite no plan depends on such a count)",
		edits:  []edit{{file: "store/postgres/sql/receive_plain.sql", old: "FROM t WHERE m.id = ANY (ARRAY[t.id])", new: "FROM t WHERE m.id = t.id"}},
		caught: []catch{{onPostgres, "store/postgres", "TestPlansOfADrainedQueue", "messages is read from end to end"}},
	},
}
