package main

// ofCallers are what keeps a transaction of the caller's own, which may stay open for minutes, out of the way of servers.
var ofCallers = []mutant{
	{
		id: "callers-message-wakes-its-group", holds: "I16", out: "a group has its turn when a message published in a caller's transaction is given to it (on SQLite no caller has a transaction in the store)",
		edits:  []edit{{file: "store/postgres/sql/wakes_fold.sql", old: "next_at = least(g.next_at, greatest(gl.vis, now())), low", new: "next_at = g.next_at, low"}},
		caught: []catch{{onPostgres, "store/postgres", "TestCommitWakesWaiting", "received 0"}},
	},
	{
		id: "callers-fold-alone", holds: "H-Q26", out: "one at a time gives a fifo queue's messages of callers' transactions their places (on SQLite no caller has a transaction in the store)",
		edits:  []edit{{file: "store/postgres/sql/wakes_fold.sql", old: " AND (SELECT pg_try_advisory_xact_lock(1936288617, hashint8($1)))", new: ""}},
		caught: []catch{{onPostgres, "store/postgres", "TestFIFOFoldsOneAfterTheOther", "received "}},
	},
	{
		id: "callers-fold-all", holds: "H-Q26", out: "no look for a fifo queue's messages of callers' transactions begins at a mark (on SQLite no caller has a transaction in the store)",
		edits:  []edit{{file: "store/postgres/receive.go", old: "\tif q.fifo {\n\t\tq.from = 0", new: "\tif q.fifo && fullWakes {\n\t\tq.from = 0"}},
		caught: []catch{{onPostgres, "store/postgres", "TestFIFOFoldPassesNothingBy", "received "}},
	},
	{
		id: "callers-without-a-pause", holds: "I15", out: "a publish to a fifo queue waits for the callers' messages that were there, and for no later one (on SQLite no caller has a transaction in the store)",
		edits:  []edit{{file: "store/postgres/publish.go", old: "p.comes[q] = last", new: "p.comes[q] = last + math.MaxInt32"}},
		caught: []catch{{onPostgres, "store/postgres", "TestFIFOPublishBesideCallersWithoutAPause", "a row moved between look and lock"}},
	},
	{
		id: "callers-out-of-time", holds: "I1", out: "a publish to a fifo queue that runs out of time while it waits for callers' messages is no success (on SQLite no caller has a transaction in the store)",
		edits:  []edit{{file: "store/postgres/publish.go", old: "\t\t\t\terr = pause(ctx, 2)\n", new: "\t\t\t\tif pause(ctx, 2) != nil {\n\t\t\t\t\treturn nil\n\t\t\t\t}\n"}},
		caught: []catch{{onPostgres, "store/postgres", "TestFIFOPublishOutOfTime", "a success, and nothing is stored"}},
	},
	{
		id: "held-key-passed-by", holds: "I15", out: "a lane passes by a publish key that is in a caller's open transaction (on SQLite no caller has a transaction in the store)",
		edits: []edit{
			{file: "store/postgres/sql/publish.sql", old: "CASE WHEN key = '' OR $12 = '' THEN false", new: "CASE WHEN key = '' OR $12 = $12 THEN false"},
			{file: "store/postgres/sql/publish_one.sql", old: "CASE WHEN key = '' OR $11 = '' THEN false", new: "CASE WHEN key = '' OR $11 = $11 THEN false"},
		},
		caught: []catch{{onPostgres, "store/postgres", "TestHeldKeyStopsNoOther", "beside the held key"}},
	},
	{
		id: "held-work-key-passed-by", holds: "I15", out: "a lane passes by a worker's key that is in a caller's open transaction (on SQLite no caller has a transaction in the store)",
		edits: []edit{{
			file: "store/postgres/sql/claim_lock.sql", old: "SELECT $2 <> '' AND", new: "SELECT $2 <> $2 AND",
		}},
		caught: []catch{{onPostgres, "store/postgres", "TestHeldWorkKeyStopsNoOther", "beside the held key"}},
	},
	{
		id: "waiters-look-together", holds: "I16", out: "what comes while one who waited is on his way to look is his (on SQLite waiters have another way)",
		edits:  []edit{{file: "store/postgres/hub.go", old: "\tcase wait > 0:\n", new: "\tcase wait > time.Hour:\n"}},
		caught: []catch{{onPostgres, "store/postgres", "TestWaitersLookTogether", "two looks "}},
	},
	{
		id: "ride-not-again", holds: "I1", out: "a publish that failed with the receive of one who waits is stored without it (on SQLite none is handed out so)",
		edits:  []edit{{file: "store/postgres/publish.go", old: "p.alone = true", new: "p.alone = false"}},
		caught: []catch{{onPostgres, "store/postgres", "TestSuite/poison/H-Q18, I1: a publish that fails once it is handed to one who waits is stored all the same", "a row moved between look and lock"}},
	},
	{
		id: "ride-tells-of-the-rest", holds: "I16", out: "what one who waited had no room for is told of (on SQLite all are told)",
		edits:  []edit{{file: "store/postgres/ride.go", old: "in <= 0 && r.full && ends(got, r.receive.Max)", new: "in <= 0"}},
		caught: []catch{{onPostgres, "store/postgres", "TestHandedOutIsNotLookedFor", "after 2 of at most 2"}},
	},
	{
		id: "ride-lets-go", holds: "I16", out: "one who left while it rode is let go by a commit that has nothing for it (on SQLite nobody rides)",
		edits:  []edit{{file: "store/postgres/hub.go", old: "|| me.leaves ", new: "|| me.leaves && me.filled() "}},
		caught: []catch{{onPostgres, "store/postgres", "TestRideInVain", "after its ride"}},
	},
	{
		id: "send-ride-disabled", holds: "I15", out: "a delivery to a disabled endpoint is not handed out by the commit that stores it (on SQLite none is)",
		edits:  []edit{{file: "store/postgres/sql/send_deliver.sql", old: "NOT g.disabled AND", new: "true AND"}},
		caught: []catch{{onPostgres, "store/postgres", "TestSendHandsOutNoMore/a disabled endpoint", "handed out 1"}},
	},
	{
		id: "send-ride-slots", holds: "I15", out: "nor one to an endpoint without a free slot (on SQLite none is)",
		edits:  []edit{{file: "store/postgres/sql/send_deliver.sql", old: "AND u.turn <= least(g.slots, $6) - g.in_flight", new: "AND u.turn <= $6"}},
		caught: []catch{{onPostgres, "store/postgres", "TestSendHandsOutNoMore/no slot is free", "handed out 1"}},
	},
	{
		id: "send-ride-before", holds: "I16", out: "nor one before those of its endpoint that wait (on SQLite none is)",
		edits:  []edit{{file: "store/postgres/sql/send_deliver.sql", old: "AND coalesce(g.next_at > now(), true)", new: ""}},
		caught: []catch{{onPostgres, "store/postgres", "TestSendHandsOutNoMore/one waits before it", "handed out 1"}},
	},
	{
		id: "send-ride-tells-of-the-rest", holds: "I16", out: "what was not handed out by the commit that stored it is told of (on SQLite all are told)",
		edits:  []edit{{file: "store/postgres/send_ride.go", old: "\t\t\t\ts.left = true\n\t\t\t\treturn nil\n", new: "\t\t\t\treturn nil\n"}},
		caught: []catch{{onPostgres, "store/postgres", "TestSendHandsOutNoMore/more than the worker has room for", "nobody was told"}},
	},
	{
		id: "send-ride-not-again", holds: "I9", out: "an event that failed with the take of a worker that waits is stored without it (on SQLite none is handed out so)",
		edits:  []edit{{file: "store/postgres/send.go", old: "s.land(db.hub) && refused(err)", new: "s.land(db.hub) && refused(err) && false"}},
		caught: []catch{{onPostgres, "store/postgres", "TestSendRideFails", "poisoned"}},
	},
	{
		id: "handed-out-by-wait", holds: "I16", out: "a job that comes in the moment of a stop is given back",
		edits:  []edit{{file: "worker/receive.go", old: "if l.start(n, jobs, asked); waits {", new: "if l.soft.Err() == nil {\n\t\t\t\tl.start(n, jobs, asked)\n\t\t\t}\n\t\t\tif waits {"}},
		caught: alone("worker", "TestHandedOutByWait", "did not end in time"),
	},
	{
		id: "still-nothing", holds: "I16", out: "a look that a wake-up came into says nothing of the queue (on SQLite each look is made)",
		edits:  []edit{{file: "store/postgres/hub.go", old: "w.wakes == seen {", new: "w.wakes >= seen {"}},
		caught: []catch{{onPostgres, "store/postgres", "TestStillNothing", "though a wake-up came during the look"}},
	},
	{
		id: "purge-waits-for-nobody", holds: "I15", out: "a purge waits for no key while it has others (on SQLite no caller has a transaction in the store)",
		edits:  []edit{{file: "store/postgres/sweep.go", old: "tx.readClaims(ctx, freeClaimsOfSQL, ids)", new: "tx.readClaims(ctx, lockClaimsOfSQL, ids)"}},
		caught: []catch{{onPostgres, "store/postgres", "TestPurgeBesideAHeldKey/purge", "another was waited for"}},
	},
	{
		id: "redrive-passes-nothing-by", holds: "I12", out: "a redrive does not pass by a dead letter whose key somebody holds (on SQLite no caller has a transaction in the store)",
		edits:  []edit{{file: "store/postgres/redrive_step.go", old: " || slices.Contains(held, l.message)) {", new: ") {"}, {file: "store/postgres/redrive_step.go", old: "held, err := tx.heldLetters", new: "_, err = tx.heldLetters"}},
		caught: []catch{{onPostgres, "store/postgres", "TestRedriveBesideAHeldKey", "want all 3 moved"}},
	},
	{
		id: "resent-while-forgotten", holds: "I9", out: "an event is forgotten by what its deliveries are under their claims' locks (on SQLite there is one writer)",
		edits:  []edit{{file: "store/postgres/delivery_forget.go", old: "if events, err = tx.oldEvents(ctx, ids); err != nil {", new: "if err != nil {"}},
		caught: []catch{{onPostgres, "store/postgres", "TestResentWhileForgotten", "want the one that was sent again"}},
	},
	{
		id: "take-beside-one-unread", holds: "I15", out: "a delivery that cannot be read keeps back no other that was taken with it (on SQLite the take is undone with it)",
		edits:  []edit{{file: "store/postgres/take_job.go", old: "\t\tgive(good, bad)\n", new: "\t\tif len(bad) > 0 {\n\t\t\treturn bad[0]\n\t\t}\n\t\tgive(good, bad)\n"}},
		caught: []catch{{onPostgres, "store/postgres", "TestTakeBesideOneUnread/a claim without a delivery", "nothing is handed out"}},
	},
	{
		id: "freed-while-nobody-waits", holds: "I15", out: "a slot that comes free while no worker waits sends the next one that does to look (on SQLite each look is made)",
		edits:  []edit{{file: "store/postgres/hub.go", old: "\t\tw.looked = time.Time{}\n\t}\n\th.wakeOne(w)\n", new: "\t\tw.looked = time.Time{}\n\t\th.wakeOne(w)\n\t}\n"}},
		caught: []catch{{onPostgres, "store/postgres", "TestFreedWhileNobodyWaits", "the wake-up was lost"}},
	},
	{
		id: "held-request-key-passed-by", holds: "I15", out: "a lane passes by an event's key that is in a caller's open transaction (on SQLite no caller has a transaction in the store)",
		edits: []edit{{
			file: "store/postgres/sql/send_keys.sql", old: "AND CASE WHEN $6 = '' THEN true", new: "AND CASE WHEN $6 = $6 THEN true",
		}},
		caught: []catch{{onPostgres, "store/postgres", "TestHeldRequestKeyStopsNoOther", "the others were not beside one who does"}},
	},
	{
		id: "followed-dead-letter", holds: "I16", out: "a message that was dead-lettered before it could follow closes its key all the same (on SQLite no caller has a transaction in the store)",
		edits:  []edit{{file: "store/postgres/follow.go", old: "if dead && f.claim.MessageID == m.ID {", new: "if dead && f.claim.MessageID == 0 {"}},
		caught: []catch{{onPostgres, "store/postgres", "TestDeadBeforeItFollows", "left the key"}},
	},
	{
		id: "session-settings", holds: "I4", out: "the SQL functions are read as they are written, whatever the caller's session is set to (on SQLite no caller has a transaction in the store)",
		edits:  []edit{{file: "store/postgres/functions.go", old: "SET standard_conforming_strings = on ", new: ""}},
		caught: []catch{{onPostgres, "store/postgres", "TestSettingsOfASessionChangeNothing", "standard_conforming_strings = off: "}},
	},
	{
		id: "one-form-in-sql", holds: "I4", out: "SQL sorts the names of a payload by UTF-16, as the canonical form has it (on SQLite no caller has a transaction in the store)",
		edits: []edit{{
			file: "store/postgres/functions/sql/canonical.sql", old: "CASE WHEN octet_length(m.key) = length(m.key) THEN m.key ELSE", new: "CASE WHEN true THEN m.key ELSE",
		}},
		caught: []catch{{onPostgres, "store/postgres", "TestCanonicalInSQL", "in SQL"}},
	},
}
