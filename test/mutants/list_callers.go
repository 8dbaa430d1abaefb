package main

// ofCallers are what keeps a transaction of the caller's own, which may stay open for minutes, out of the way of servers.
var ofCallers = []mutant{
	{
		id: "callers-message-wakes-its-group", holds: "I16", out: "a group has its turn when a message published in a caller's transaction is given to it (on SQLite no caller has a transaction in the store)",
		edits:  []edit{{file: "store/postgres/sql/wakes_fold.sql", old: "next_at = least(g.next_at, greatest(gl.vis, now())), low", new: "next_at = g.next_at, low"}},
		caught: []catch{{onPostgres, "store/postgres", "TestCommitWakesWaiting", "received 0"}},
	},
	{
		id: "held-key-passed-by", holds: "I15", out: "a lane passes by a publish key that is in a caller's open transaction (on SQLite no caller has a transaction in the store)",
		edits: []edit{{
			file: "store/postgres/sql/publish.sql", old: "CASE WHEN key = '' OR $12 = '' THEN false", new: "CASE WHEN key = '' OR $12 = $12 THEN false",
		}},
		caught: []catch{{onPostgres, "store/postgres", "TestHeldKeyStopsNoOther", "beside the held key"}},
	},
	{
		id: "one-form-in-sql", holds: "I4", out: "SQL sorts the names of a payload by UTF-16, as the canonical form has it (on SQLite no caller has a transaction in the store)",
		edits: []edit{{
			file: "store/postgres/functions/sql/canonical.sql", old: "CASE WHEN octet_length(m.key) = length(m.key) THEN m.key ELSE", new: "CASE WHEN true THEN m.key ELSE",
		}},
		caught: []catch{{onPostgres, "store/postgres", "TestCanonicalInSQL", "in SQL"}},
	},
}
