package main

import "slices"

// ofProjects are the guards between projects: the project is part of every key.
var ofProjects = []mutant{
	{
		id: "project-work-key", holds: "I13", out: "the project is part of a work key",
		edits:  []edit{{file: "ledger/claim.go", old: "AppendUint64(b, uint64(project))", new: "AppendUint64(b, 0)"}},
		caught: suite("grants", "I13: one key of two projects is two keys", "busy, want granted"),
	},
	{
		id: "project-publish-key", holds: "I4, I13", out: "the project is part of a publish key",
		edits: []edit{
			{file: "store/sqlite/sql/publish_key.sql", old: "WHERE project = ? AND", new: "WHERE ? > 0 AND"},
			{file: "store/postgres/sql/publish.sql", old: "WHERE o.project = e.project AND o.queue", new: "WHERE o.queue"},
			{file: "store/postgres/sql/publish_one.sql", old: "WHERE o.project = $1 AND o.queue", new: "WHERE o.queue"},
			{file: "store/postgres/sql/publish_known.sql", old: "ON k.project = u.project AND k.queue", new: "ON k.queue"},
		},
		caught: suite("access", "I13: nothing of one project is seen or moved by another", "publish: false, want true"),
	},
	{
		id: "project-request-key", holds: "I13", out: "the project is part of a request key",
		edits: []edit{
			{file: "store/sqlite/sql/request_key.sql", old: "WHERE project = ? AND", new: "WHERE ? > 0 AND"},
			{file: "store/postgres/once.go", old: "onceTakeSQL, r.Project,", new: "onceTakeSQL, int64(1),"},
			{file: "store/postgres/once.go", old: "onceKnownSQL, r.Project,", new: "onceKnownSQL, int64(1),"},
			{file: "store/postgres/once.go", old: "onceAnswerSQL, r.Project,", new: "onceAnswerSQL, int64(1),"},
		},
		caught: suite("requests", "I13: scope and project are part of a key", "effects: 2, want 3"),
	},
	{
		id: "project-queue", holds: "I13", out: "a receipt acts in its project's queue alone",
		edits: []edit{
			{file: "store/sqlite/sql/queue_by_name.sql", old: "WHERE q.project = ? AND", new: "WHERE ? > 0 AND"},
			{file: "store/sqlite/settle.go", old: "if ok && m.Project == s.Project && m.QueueID == q.ID {", new: "if ok && m.QueueID == q.ID {"},
			{file: "store/postgres/sql/settle_queues.sql", old: "ON q.project = u.project AND q.name", new: "ON q.name"},
			{file: "store/postgres/settle.go", old: "case r == nil || r.Project != s.Project:", new: "case r == nil:"},
		},
		caught: slices.Concat(
			suiteOn(onSQLite, "access", "I13: nothing of one project is seen or moved by another", "queue: false, want true"),
			suiteOn(onPostgres, "access", "I13: nothing of one project is seen or moved by another", "settle before it has such a queue: false, want true"),
		),
	},
	{
		id: "project-linked-message", holds: "I13", out: "a key is carried by a message of its own project",
		edits: []edit{
			{file: "queue/rules.go", old: "case r == nil || r.Project != project:\n\t\treturn false, ErrMessageNotFound", new: "case r == nil:\n\t\treturn false, ErrMessageNotFound"},
		},
		caught: suite("links", "I13: a message of another project carries no key", `verdict "granted", error <nil>`),
	},
	{
		id: "project-endpoint", holds: "I13", out: "a delivery is seen by its own project",
		edits: []edit{
			{file: "store/sqlite/sql/delivery_get.sql", old: "WHERE d.id = ? AND d.project = ?", new: "WHERE d.id = ? AND ? > 0"},
			{file: "store/postgres/sql/delivery_get.sql", old: "WHERE d.id = $2 AND d.project = $1", new: "WHERE d.id = $2 AND $1::bigint > 0"},
		},
		caught: suite("events", "I13: an event id of two projects is two events", "not found: false, want true"),
	},
	{
		id: "ids-are-ours", holds: "I13", out: "an id is checked against its project",
		edits:  []edit{{file: "internal/ids/ids.go", old: "b = binary.BigEndian.AppendUint64(b, uint64(project))", new: "b = binary.BigEndian.AppendUint64(b, 0)"}},
		caught: alone("internal/ids", "TestForeign", " of project "),
	},
}
