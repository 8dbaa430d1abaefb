package main

// ofKeys are the guards of the ledger. Its rules are pure functions that both stores share.
var ofKeys = []mutant{
	{
		id: "fence-begin", holds: "I5, I7", out: "a begin asks whose grant it is",
		edits:  []edit{{file: "ledger/rules.go", old: "\tcase c.Fence != fence:\n\t\treturn c.refused(Fenced)\n\tcase !c.State.Held():", new: "\tcase !c.State.Held():"}},
		caught: suite("words", "I7: a begin by an old fence is refused", "applied: true, want false"),
	},
	{
		id: "fence-complete", holds: "I5, I7, H-L05", out: "a success asks whose grant it is",
		edits: []edit{
			{file: "ledger/rules.go", old: "\tif c.Fence != fence {\n\t\treturn c.refused(Fenced)", new: "\tif c.Fence != fence && kind != Succeeded {\n\t\treturn c.refused(Fenced)"},
			{file: "ledger/rules.go", old: "begun := c.Begun == fence\n", new: "begun := c.Begun == c.Fence\n"},
		},
		caught: suite("words", "I7, H-L05: a fenced-out worker's word changes nothing and is recorded", `done of "done" by fence 1: applied true`),
	},
	{
		id: "fence-fail", holds: "I5, I7, H-L05", out: "a failure asks whose grant it is",
		edits:  []edit{{file: "ledger/rules.go", old: "\tif c.Fence != fence {\n\t\treturn c.refused(Fenced)", new: "\tif c.Fence != fence && kind == Succeeded {\n\t\treturn c.refused(Fenced)"}},
		caught: suite("words", "I7, H-L05: a fenced-out worker's word changes nothing and is recorded", `permanent of "permanent" by fence 1: applied true`),
	},
	{
		id: "fence-grows", holds: "I5", out: "each grant has the next fence",
		edits:  []edit{{file: "ledger/rules.go", old: "\tc.Fence++\n", new: ""}},
		caught: suite("grants", "I5: a grant comes under the next fence", "fence: 0, want 1"),
	},
	{
		id: "claim-lease", holds: "I5", out: "a claim asks whether the holder's lease is over",
		edits: []edit{{
			file: "ledger/rules.go", old: "\tcase c.State.Held() && c.LeaseUntil.After(now):\n",
			new: "\tcase c.State.Held() && c.LeaseUntil.After(now) && c.GrantID == g.GrantID && c.Owner == g.Owner:\n",
		}},
		caught: suite("grants", "I5: a held key is busy until its lease is over", "granted, want busy"),
	},
	{
		id: "lease-end", holds: "I5", out: "a lease is over at its end, not after it",
		edits:  []edit{{file: "ledger/rules.go", old: "\tcase c.State.Held() && c.LeaseUntil.After(now):\n", new: "\tcase c.State.Held() && !c.LeaseUntil.Before(now):\n"}},
		caught: alone("ledger", "TestEnds", "at the lease's end: busy"),
	},
	{
		id: "window-end", holds: "H-L19", out: "the receiver's window is over at its end, not after it",
		edits:  []edit{{file: "ledger/rules.go", old: "!now.Before(c.FirstAt.Add(c.Window))", new: "now.After(c.FirstAt.Add(c.Window))"}},
		caught: alone("ledger", "TestEnds", "which is the window's: retry"),
	},
	{
		id: "reap-lease", holds: "I5, H-Q16", out: "the reaper leaves a live holder alone",
		edits: []edit{
			{file: "ledger/rules.go", old: "lapsed := c.State.Held() && !c.LeaseUntil.After(now)", new: "lapsed := c.State.Held()"},
			{file: "store/sqlite/sql/claim_lapsed.sql", old: "lease_until <= ?", new: "? > 0"},
			{file: "store/postgres/sql/claim_reap.sql", old: "state IN ('claimed', 'started') AND lease_until <= now()", new: "state IN ('claimed', 'started')"},
		},
		caught: suite("reaping", "a live holder is left alone", "state: retry, want "),
	},
	{
		id: "reap-past-reopened", holds: "I5, I16", out: "what a person sent back, as old as it is, takes no other key's place in the reaper's page",
		edits: []edit{
			{file: "store/sqldb/sql/sqlite/reap.sql", old: " AND (tries > 0 OR next_at < ?3)", new: ""},
			{file: "store/sqldb/sql/postgres/reap.sql", old: "     AND (tries > 0 OR next_at < statement_timestamp() - $2::float8 * interval '1 s') ORDER", new: "     ORDER"},
		},
		caught: []catch{
			{"", "store/sqldb", "TestSuite/sqlite/reaping/what a person sent back, as old as it is, keeps no other key from the reaper", "moved: 0, want 2"},
			{"", "store/sqldb", "TestSuite/postgres/reaping/what a person sent back, as old as it is, keeps no other key from the reaper", "moved: 1, want 2"},
		},
	},
	{
		id: "retry-waits", holds: "I5, H-L02", out: "a key that waits for its next try is not granted before",
		edits: []edit{{
			file: "ledger/rules.go", old: "\tcase c.State == Retry && c.NextAt.After(now):\n", new: "\tcase c.State == Retry && c.NextAt.After(now) && c.GrantID == g.GrantID:\n",
		}},
		caught: suite("grants", "H-L02: a retry waits for its time, then is granted", "granted, want busy"),
	},
	{
		id: "work-hash", holds: "H-L14", out: "a claim compares the work's hash",
		edits: []edit{{
			file: "ledger/rules.go", old: "case c.WorkHash != nil && g.WorkHash != nil && !bytes.Equal(c.WorkHash, g.WorkHash):",
			new: "case c.WorkHash == nil && g.WorkHash == nil && !bytes.Equal(c.WorkHash, g.WorkHash):",
		}},
		caught: suite("grants", "H-L14: the same key with other work is a mismatch, and nothing changes", "want mismatch"),
	},
	{
		id: "done-stays", holds: "I5", out: "what is done is not granted again",
		edits: []edit{
			{file: "ledger/rules.go", old: "\tcase c.State.Terminal():\n\t\treturn Ruling{", new: "\tcase c.State.Terminal() && c.State != Done:\n\t\treturn Ruling{"},
			{file: "ledger/rules.go", old: "c.LeaseUntil, c.NextAt = now.Add(g.Lease), time.Time{}\n", new: "c.LeaseUntil, c.NextAt, c.FinishedAt = now.Add(g.Lease), time.Time{}, time.Time{}\n"},
		},
		caught: suite("words", "I5: done never changes, whatever is said", "granted, want done"),
	},
	{
		id: "failed-stays", holds: "I5", out: "a late success does not change what has failed",
		edits:  []edit{{file: "ledger/rules.go", old: "case c.State == Failed || c.State == New:", new: "case c.State == New:"}},
		caught: suite("words", "a late success after failed is refused", "applied true"),
	},
	{
		id: "begin-first", holds: "I5", out: "what was not begun cannot be done",
		edits:  []edit{{file: "ledger/rules.go", old: "\t\tcase !begun:\n\t\t\treturn c.refused(NotBegun)\n", new: ""}},
		caught: suite("words", "a once not begun cannot be done", "applied true"),
	},
	{
		id: "once-unknown", holds: "H-L04", out: "a once is stuck after an outcome that nobody knows",
		edits:  []edit{{file: "ledger/rules.go", old: "\tcase kind == Ambiguous && c.Policy == Once:\n\t\ts = Stuck\n", new: ""}},
		caught: suite("words", "H-L04: a once is stuck after an ambiguous try", "state retry"),
	},
	{
		id: "once-died", holds: "H-L04", out: "a once is stuck if its worker died after the beginning",
		edits:  []edit{{file: "ledger/rules.go", old: "\tcase c.State == Started && c.Policy == Once:\n\t\treturn Stuck, \"the worker died after the effect may have begun\"\n", new: ""}},
		caught: suite("reaping", "H-L04: a once that may have begun is stuck", "state: retry, want stuck"),
	},
	{
		id: "receivers-window", holds: "H-L19", out: "the receiver's window ends the tries after an unknown outcome",
		edits: []edit{{
			file: "ledger/rules.go", old: "return c.Window > 0 && !c.FirstAt.IsZero() && !now.Before(c.FirstAt.Add(c.Window))", new: "return c.Window < 0 && !now.Before(c.FirstAt)",
		}},
		caught: suite("reaping", "H-L19: an ambiguous try past the receiver's window is stuck, not tried again", "state past it: retry, want stuck"),
	},
	{
		id: "next-try-in-window", holds: "H-L19", out: "a try that could come only past the receiver's window is not waited for",
		edits:  []edit{{file: "ledger/rules.go", old: "c.windowOver(now.Add(retryIn))", new: "c.windowOver(now)"}},
		caught: suite("words", "H-L19: what would be tried next past the receiver's window is stuck at once", "state retry"),
	},
	{
		id: "last-rung", holds: "I3, I6", out: "the tries are used up at the ladder's last step",
		edits: []edit{
			{file: "ledger/rules.go", old: "case kind == Permanent || c.Tries >= c.MaxTries:", new: "case kind == Permanent:"},
			{file: "ledger/rules.go", old: "\tcase c.Tries >= c.MaxTries && mayHave:\n", new: "\tcase c.MaxTries < 0 && mayHave:\n"},
			{file: "ledger/rules.go", old: "\tcase c.Tries >= c.MaxTries:\n", new: "\tcase c.MaxTries < 0:\n"},
		},
		caught: suite("attempts", "I6: the last rung used up fails, dead-lettered with it", "state retry (); want failed"),
	},
	{
		id: "too-old", holds: "I8", out: "work that is older than the ledger's memory is not run",
		edits:  []edit{{file: "ledger/rules.go", old: "\treturn !c.OriginAt.IsZero() && now.Sub(c.OriginAt) > Memory && !back\n", new: "\treturn c.OriginAt.IsZero() && back\n"}},
		caught: suite("grants", "I8: work older than the ledger's memory is too old", "granted, want too_old"),
	},
	{
		id: "ledger-remembers", holds: "I8", out: "what is done is kept for 90 days",
		edits: []edit{
			{file: "store/sqlite/claim_sweep.go", old: `t.ids("claim_forgettable", at(t.now.Add(-ledger.Memory)), limit)`, new: `t.ids("claim_forgettable", at(t.now), limit)`},
			{file: "store/postgres/claim_reap.go", old: "forgetKeysSQL, limit, seconds(ledger.Memory))", new: "forgetKeysSQL, limit, 0.0)"},
		},
		caught: suite("reaping", "I8: done and failed are forgotten after 90 days, the others never", "left: 2, want 4"),
	},
	{
		id: "reopen-once", holds: "I5, I12", out: "a redrive leaves a stuck once for a person",
		edits:  []edit{{file: "ledger/rules.go", old: "c.State == Failed || c.State == Stuck && c.Policy == Idempotent", new: "c.State == Failed || c.State == Stuck"}},
		caught: suite("reaping", "a stuck once is left for a person", "state: retry, want stuck"),
	},
	{
		id: "resolve-fence", holds: "I5", out: "a person's word counts for the claim that the person saw",
		edits:  []edit{{file: "ledger/act.go", old: "if r.Fence != 0 && r.Fence != c.Fence {", new: "if r.Fence < 0 {"}},
		caught: suite("reaping", "a resolve of a claim that moved is refused", "changed: false, want true"),
	},
	{
		id: "dead-closes-key", holds: "I6", out: "a dead letter closes its key",
		edits:  []edit{{file: "queue/rules.go", old: "c.Dead, c.CloseKey, c.Next = true, r.ClaimID != 0, r.Place != 0 && r.GroupID != 0", new: "c.Dead = true"}},
		caught: suite("work", "I6: a message dead at its last nack closes its open key", "never begun: claimed, want failed"),
	},
}
