package main

// ofLinks are about the message that carries a worker's key.
var ofLinks = []mutant{
	{
		id: "newest-receipt-links", holds: "I2", out: "only the newest receipt has a message carry a key",
		edits:  []edit{{file: "queue/rules.go", old: "\tcase lease != r.Lease || !r.Open:\n\t\treturn true, nil\n", new: ""}},
		caught: suite("links", "I2, H-L20: who lost the message is granted nothing and makes no key; who has it is", "granted, want busy"),
	},
	{
		id: "refused-makes-no-key", holds: "I16", out: "a call that is granted nothing leaves no key behind",
		edits: []edit{
			{file: "store/sqlite/claim.go", old: "\tcase !known && !r.Changed:\n\t\treturn ledger.Answer{Ruling: r}, nil\n", new: ""},
			{file: "store/postgres/claim_grant.go", old: "\treturn c\n", new: "\tg.saveClaim(c)\n\treturn c\n"},
		},
		caught: suite("links", "I2, H-L20: who lost the message is granted nothing and makes no key; who has it is", "claims: 0 rows, then 1"),
	},
	{
		id: "one-key-a-message", holds: "I5", out: "a message carries one key",
		edits:  []edit{{file: "queue/rules.go", old: "\tcase r.ClaimID != 0 && r.ClaimID != claim:\n\t\treturn false, carriesAnother()\n", new: ""}},
		caught: suite("links", "a message carries one key", "verdict \"granted\", error <nil>"),
	},
	{
		id: "carried-by-another", holds: "I5", out: "a message's death leaves a key that another message carries by now",
		edits: []edit{
			{file: "store/sqlite/change.go", old: "|| !ok || c.MessageID != m.ID {", new: "|| !ok {"},
			{file: "store/postgres/changes.go", old: "\tif c.MessageID == r.ID {\n", new: "\tif r.ID != 0 {\n"},
		},
		caught: suite("links", "I5, H-L21: a message's death leaves a key that another message carries by now", "state: failed, want claimed"),
	},
	{
		id: "failed-is-carried", holds: "H-L08, I12", out: "what is dead-lettered for its failed key carries it, so that its redrive opens that",
		edits:  []edit{{file: "ledger/rules.go", old: "\tcase WasFailed, WasStuck, TooOld:\n\t\treturn true\n", new: ""}},
		caught: suite("links", "H-L08, I12: what is dead-lettered for its failed key opens that by its own redrive", "failed, want granted"),
	},
	{
		id: "sent-back-is-run", holds: "I8", out: "what a person sent back is not too old",
		edits:  []edit{{file: "ledger/rules.go", old: "> Memory && !back\n", new: "> Memory && (back || !back)\n"}},
		caught: suite("links", "I8: a key is as old as the message that carries it, and runs again only by a redrive", "too_old, want granted"),
	},
	{
		id: "history-is-bounded", holds: "I7", out: "of the words that changed nothing the newest alone are kept",
		edits: []edit{
			{file: "store/sqlite/outcome.go", old: "\treturn t.trimNotes(c.ID)\n", new: "\treturn nil\n"},
			{file: "store/postgres/changes.go", old: "\tch.trim = append(ch.trim, c.ID)\n", new: ""},
		},
		caught: suite("words", "I7, H-L22: what a worker repeats for ever is not kept for ever, a person's acts are", "lines are kept"),
	},
}
