package main

// ofAccounts are what makes a charge exact.
var ofAccounts = []mutant{
	{
		id: "charge-limit", holds: "I4", out: "what a limit does not pay is refused, to the last unit",
		edits: []edit{
			{file: "account/account.go", old: "!limited || cost <= left", new: "!limited || left > 0"},
			{file: "store/postgres/sql/publish.sql", old: "OR s.cost <= s.rest", new: "OR s.cost - s.price < s.rest"},
		},
		caught: suite("account", "a limit is exact: within a batch, to the last unit, and raised", "beyond the limit: "),
	},
	{
		id: "charge-replays", holds: "I4", out: "a message is charged with its own publish alone, and its replays are free",
		edits: []edit{
			{file: "store/sqlite/publish.go", old: "first, known, err := t.published(p)\n\tif err", new: "first, known, err := t.published(p)\n\tif due, e := t.afford(p, b); e == nil && known {\n\t\tdue.add(p.Price)\n\t}\n\tif err"},
			{file: "store/postgres/sql/publish.sql", old: "SELECT project, (now() AT TIME ZONE 'UTC')::date, count(*), sum(price) FROM w WHERE price > 0", new: "SELECT project, (now() AT TIME ZONE 'UTC')::date, count(*), sum(price) FROM j WHERE price > 0"},
		},
		caught: suite("account", "a message is charged once, with it, and its replays are free", "spent: "),
	},
	{
		id: "charge-lock", holds: "I4", out: "what is left of a limit is looked at by one transaction at a time (on SQLite there is one writer)",
		edits:  []edit{{file: "store/postgres/sql/credit_lock.sql", old: " FOR NO KEY UPDATE", new: ""}},
		caught: []catch{{onPostgres, "store/postgres", "TestLimitOverServers", "messages were stored at a limit of"}},
	},
	{
		id: "charge-waits-alone", holds: "I15", out: "a project's limit is not locked while a key in a caller's open transaction is waited for (on SQLite no caller has a transaction in the store)",
		edits:  []edit{{file: "store/postgres/held.go", old: "if items[i].Price > 0 {", new: "if items[i].Price < 0 {"}},
		caught: []catch{{onPostgres, "store/postgres", "TestLimitIsNotHeldWhileAKeyIsWaitedFor", "the project is locked"}},
	},
	{
		id: "charge-open", holds: "I4", out: "what open transactions of callers have published counts against a limit (on SQLite no caller has a transaction in the store)",
		edits:  []edit{{file: "store/postgres/functions/charge.sql", old: "- held * onceward_price()", new: "- 0 * held"}},
		caught: []catch{{onPostgres, "store/postgres", "TestOpenTransactionHoldsItsCredit", "that open transactions hold"}},
	},
}
