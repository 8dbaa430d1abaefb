package main

// ofActs are the guards of what persons do: redrives, and keys of the API.
var ofActs = []mutant{
	{
		id: "redrive-counts-beside", holds: "I15", out: "what a redrive concerns is counted beside the writer, under a request key too (on the other there is no one writer)",
		edits:  []edit{{file: "store/sqlite/once.go", old: "case a == nil:", new: "case a != nil || a == nil:"}},
		caught: alone("store/sqlite", "TestRedriveUnderAKeyIsCountedBesideTheWriter", "the writer has read dead letters"),
	},
	{
		id: "redrive-anew", holds: "I12", out: "a redriven message begins with no receive counted",
		edits:  []edit{{file: "queue/rules.go", old: "r.Receives, r.Leased, r.Open = 0, false, false", new: "r.Leased, r.Open = false, false"}},
		caught: suite("redrive", "I12: a redrive moves all that was there, each to where it came from, anew", "count: 2, want 1"),
	},
	{
		id: "redrive-reopens", holds: "I12, H-L08", out: "a redrive reopens the key with its message",
		edits: []edit{
			{file: "store/sqlite/redrive_step.go", old: "if ok && c.State.Terminal() {", new: "if ok && c.State == ledger.New {"},
			{file: "store/postgres/redrive_step.go", old: "\tif !c.State.Terminal() {\n\t\treturn true\n\t}\n\tif !c.Reopen(", new: "\tif c.Fence >= 0 {\n\t\treturn true\n\t}\n\tif !c.Reopen("},
		},
		caught: suite("work", "H-L08, I12: a redrive reopens what failed with its message", "state: failed, want retry"),
	},
	{
		id: "canary-waits", holds: "I12, I15", out: "the others wait until their endpoint's canary was delivered",
		edits:  []edit{{file: "webhook/redrive.go", old: "\tcase p.State == PartCanary && n.Claim == ledger.Done:\n", new: "\tcase p.State == PartCanary:\n"}},
		caught: suite("acts", "a canary goes first, and lets the others follow", "go before the canary has come back, want 1"),
	},
	{
		id: "canary-refused", holds: "I12, I15", out: "a refused canary keeps the others back",
		edits:  []edit{{file: "webhook/redrive.go", old: "\tcase p.State == PartCanary && n.refused():\n\t\tp.End(PartRefused)\n", new: "\tcase p.State == PartCanary && n.refused():\n\t\tp.State = PartOpen\n"}},
		caught: suite("acts", "a refused canary ends its endpoint's part alone", "of the refused: 3, want 1"),
	},
	{
		id: "key-revoked", holds: "I13", out: "a key ends when it is revoked",
		edits:  []edit{{file: "access/access.go", old: "return k.RevokedAt.IsZero() && (k.ExpiresAt", new: "return (k.ExpiresAt"}},
		caught: suite("access", "a key that is revoked or expired is found, and not live", "revoked is live: true, want false"),
	},
	{
		id: "key-expires", holds: "I13, I14", out: "a key ends when it expires",
		edits:  []edit{{file: "access/access.go", old: "(k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))", new: "(k.ExpiresAt.IsZero() || now.Before(now.Add(1)))"}},
		caught: suite("access", "a key that is revoked or expired is found, and not live", "expired is live: true, want false"),
	},
	{
		id: "root-alone", holds: "I13", out: "an admin of one project is not root",
		edits:  []edit{{file: "access/access.go", old: "s != Root && slices.Contains(k.Scopes, Admin)", new: "slices.Contains(k.Scopes, Admin)"}},
		caught: alone("access", "TestMay", "admin may [publish consume webhooks read admin root]"),
	},
	{
		id: "key-gives", holds: "I13", out: "a key gives no more than it has",
		edits:  []edit{{file: "access/key.go", old: "\t\tif !k.May(s) {\n\t\t\treturn &fault.Error{\n\t\t\t\tCode: fault.Forbidden, Field:", new: "\t\tif !k.May(s) && s == \"\" {\n\t\t\treturn &fault.Error{\n\t\t\t\tCode: fault.Forbidden, Field:"}},
		caught: alone("access", "TestGiveAndTake", "publish, give "),
	},
}
