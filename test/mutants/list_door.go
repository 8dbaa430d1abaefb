package main

// ofDoor are the guards of the ledger's front door, of the ledger in a database of somebody else's, and of the webhooks' other end.
var ofDoor = []mutant{
	{
		id: "door-begin", holds: "H-L04", out: "that the effect of a once begins is written before it does",
		edits:  []edit{{file: "ledger/do.go", old: "if a.Claim.Policy == Once && h", new: "if a.Claim.Policy == \"\" && h"}},
		caught: alone("ledger", "TestNotBegun", "the effect of k was made again"),
	},
	{
		id: "door-ack", holds: "I6, H-L01", out: "a message is never acked because somebody else is at it",
		edits:  []edit{{file: "ledger/outcome.go", old: "\tcase o.Done():\n\t\td.Action = Ack\n", new: "\tcase o.Done() || o.Verdict == Busy:\n\t\td.Action = Ack\n"}},
		caught: alone("ledger", "TestFound/sqlite", "while another is at it: ack"),
	},
	{
		id: "door-fenced", holds: "I7, H-L05", out: "a message whose key another has is not touched",
		edits:  []edit{{file: "ledger/hold.go", old: "\tcase Fenced, NotBegun, NoKey:\n", new: "\tcase NotBegun, NoKey:\n"}},
		caught: alone("ledger", "TestLeaseLost", "ack, "),
	},
	{
		id: "door-panic", holds: "H-L04", out: "an effect that panics has an outcome, which nobody knows",
		edits:  []edit{{file: "ledger/do.go", old: "if result, err = nil, p; p.Value == nil {", new: "if result, err = nil, NotDone(p); p.Value == nil {"}},
		caught: alone("ledger", "TestOutcomes/once: panic/sqlite", "state retry"),
	},
	{
		id: "door-lost-answer", holds: "I2", out: "an answer that was lost is asked for again, so that nobody's grant holds up the key",
		edits:  []edit{{file: "ledger/do.go", old: "try == 3 ||", new: "try == 1 ||"}},
		caught: alone("ledger", "TestLostAnswer", "the store is away"),
	},
	{
		id: "door-late", holds: "H-L03", out: "an outcome is told though the store was away for longer than the lease",
		edits:  []edit{{file: "ledger/hold.go", old: "if !gone && !time.Now().Before(h.Ends())", new: "if !time.Now().Before(h.Ends())"}},
		caught: alone("ledger", "TestStoreAwayAfterTheEffect", "it did not wait"),
	},
	{
		id: "tx-undone", holds: "I10", out: "an effect that fails is undone with its transaction",
		edits:  []edit{{file: "ledger/tx.go", old: "\t\t\treturn &undone{err}\n", new: "\t\t\to = Outcome{Verdict: Granted, State: Retry, err: err}\n\t\t\treturn nil\n"}},
		caught: alone("ledger", "TestTx/sqlite", "effects of what was undone: "),
	},
	{
		id: "tx-counted", holds: "I16", out: "a try that was undone is counted",
		edits:  []edit{{file: "ledger/tx.go", old: "return failTx(ctx, db, h, call, u.err)", new: "return Outcome{Verdict: Granted, State: Retry, Claim: h.claim, err: u.err}"}},
		caught: alone("ledger", "TestTx/sqlite", "try 2 of what fails half way: retry"),
	},
	{
		id: "own-renew", holds: "H-Q06", out: "a key whose time is over is new, swept or not",
		edits:  []edit{{file: "store/sqldb/claim.go", old: "if c.Forgotten(t.now) {", new: "if c.Forgotten(t.now.Add(-1e18)) {"}},
		caught: alone("store/sqldb", "TestSuite/sqlite/reaping/a key is remembered for as long as it was asked to be, and new after it, swept or not", "granted"),
	},
	{
		id: "own-lock", holds: "I5", out: "on PostgreSQL a key is locked while a rule is applied to it",
		edits:  []edit{{file: "store/sqldb/sql/postgres/lock.sql", old: "ORDER BY id FOR UPDATE", new: "ORDER BY id"}},
		caught: alone("store/sqldb", "TestSuite/postgres/reaping/H-Q16: a reaper acts only on what it saw", "the watch saw: claim: an unknown outcome was forgotten"),
	},
	{
		id: "own-locked", holds: "I15", out: "a key in somebody's open transaction is busy, and fails nobody else's claim",
		edits:  []edit{{file: "store/sqldb/claim.go", old: "if len(calls) == 1 && lockTimeout(err) {", new: "if len(calls) == 0 && lockTimeout(err) {"}},
		caught: alone("ledger", "TestLongTransactionHoldsUpNobodyElse", "the same key is not busy"),
	},
	{
		id: "own-lane", holds: "I15", out: "calls that share a transaction do not wait for a key that somebody has locked",
		edits:  []edit{{file: "store/sqldb/tx.go", old: "\tif t.lane {\n\t\treturn lockWait\n", new: "\tif t.lane {\n\t\treturn \"\"\n"}},
		caught: alone("ledger", "TestLongTransactionHoldsUpNobodyElse", "another key: "),
	},
	{
		id: "receiver-verifies", holds: "I5", out: "a receiver believes only what is signed",
		edits:  []edit{{file: "webhook/receiver.go", old: "r.c.Secrets...); err != nil {", new: "r.c.Secrets...); err != nil && false {"}},
		caught: alone("webhook", "TestReceiver", "a body that was not signed: answered 204"),
	},
	{
		id: "receiver-content", holds: "H-L14", out: "a receiver takes a key with another body for no repetition",
		edits:  []edit{{file: "webhook/receiver.go", old: "Hash: hash[:]}", new: "Hash: hash[:0:0]}"}},
		caught: alone("webhook", "TestReceiver", "the key with another body: answered 204"),
	},
}
