// Package sqldb keeps the claim ledger in a database that you own: PostgreSQL by a pgx pool or by database/sql with any driver, SQLite by
// database/sql (modernc.org/sqlite and mattn/go-sqlite3 were tried). It is all that a team needs to use [ledger] without the rest of Onceward:
//
//	db := sqldb.Postgres(pool)             // or SQLite(db), or Pgx(pool)
//	err := db.Install(ctx)                 // or PostgresSchema() in a migration of yours
//	mails, err := ledger.NewLedger(ledger.Config{Store: db, Scope: "mail"})
//	out, err := mails.Do(ctx, ledger.Work{Key: "order-17"}, send)
//
// Two tables are made, onceward_claims and onceward_claim_notes, in the first schema of the search path. Calls that come at the same time share
// a transaction; what one commits is on disk when the call returns. Deadlines are those of the database's clock on PostgreSQL and of the
// process on SQLite, whose processes share one machine.
//
// A call with a context from [DB.Join] or [DB.InTx] is part of that transaction instead: a key can be completed together with the effect, so that no
// crash can part the two.
//
// PostgreSQL 14 or newer (15 is tested) in READ COMMITTED, its default; SQLite 3.41 or newer, with a busy_timeout set (the drivers' DSN has it), since
// others write to the same file.
package sqldb
