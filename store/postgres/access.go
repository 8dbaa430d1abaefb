package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/internal/fault"
)

var (
	keyByHashSQL   = stmt("key_by_hash")
	keyRootDropSQL = stmt("key_root_drop")
	keyRootAddSQL  = stmt("key_root_add")
	keyAnySQL      = stmt("key_any")
)

// rootKeyLock is the advisory lock under which servers that start together set the root key one after the other.
const rootKeyLock = 0x726f6f74 // "root"

// KeyByHash finds a key, with whether it is live by the database's clock.
func (db *DB) KeyByHash(ctx context.Context, hash []byte) (k access.Key, live bool, err error) {
	err = db.alone(ctx, func(ctx context.Context) error {
		var scopes []string
		var now time.Time
		k = access.Key{}
		err := db.conn(ctx).QueryRow(ctx, keyByHashSQL, hash).Scan(&k.ID, &k.Project, &k.Name, &scopes, &k.CreatedAt, &k.ExpiresAt, &k.RevokedAt, &now)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.New(fault.NotFound, "there is no such key")
		}
		k.Scopes = column(scopes, func(s string) access.Scope { return access.Scope(s) })
		live = k.Live(now)
		return err
	})
	if err != nil {
		return access.Key{}, false, wrap("key", "", err)
	}
	return k, live, nil
}

// SetRootKey makes hash the default project's root key of a name, in place of the one of that name.
func (db *DB) SetRootKey(ctx context.Context, name string, hash []byte) error {
	err := db.in(ctx, func(ctx context.Context, tx *txn) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", rootKeyLock); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, keyRootDropSQL, access.DefaultProject, name, hash); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, keyRootAddSQL, access.DefaultProject, name, hash)
		return err
	})
	return wrap("set the root key", name, err)
}

// HasKeys reports whether the store has any key.
func (db *DB) HasKeys(ctx context.Context) (has bool, err error) {
	err = db.alone(ctx, func(ctx context.Context) error { return db.conn(ctx).QueryRow(ctx, keyAnySQL).Scan(&has) })
	return has, wrap("keys", "", err)
}
