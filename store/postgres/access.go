package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/access"
)

var (
	keyByHashSQL   = stmt("key_by_hash")
	keyByIDSQL     = stmt("key_by_id")
	keyListSQL     = stmt("key_list")
	keyInsertSQL   = stmt("key_insert")
	keyRevokeSQL   = stmt("key_revoke")
	keyForgetSQL   = stmt("key_forget")
	keyRootDropSQL = stmt("key_root_drop")
	keyRootAddSQL  = stmt("key_root_add")
	keyAnySQL      = stmt("key_any")
)

// rootKeyLock is the advisory lock under which servers that start together set the root key one after the other.
const rootKeyLock = 0x726f6f74 // "root"

// KeyByHash finds a key, with whether it is live by the database's clock.
func (db *DB) KeyByHash(ctx context.Context, hash []byte) (k access.Key, live bool, err error) {
	err = db.alone(ctx, func(ctx context.Context) error {
		var now time.Time
		k, now, err = scanKey(db.conn(ctx).QueryRow(ctx, keyByHashSQL, hash))
		live = k.Live(now)
		return err
	})
	if err != nil {
		return access.Key{}, false, wrap("key", "", err)
	}
	return k, live, nil
}

// scanKey reads a key and the database's time.
func scanKey(r pgx.Row) (k access.Key, now time.Time, err error) {
	var scopes []string
	err = r.Scan(&k.ID, &k.Project, &k.Name, &scopes, &k.CreatedAt, &k.ExpiresAt, &k.RevokedAt, &now)
	if errors.Is(err, pgx.ErrNoRows) {
		err = access.NoKey()
	}
	k.Scopes = column(scopes, func(s string) access.Scope { return access.Scope(s) })
	return k, now, err
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

// CreateKey makes a key, and forgets some that ended long ago.
func (db *DB) CreateKey(ctx context.Context, n access.NewKey) (k access.Key, err error) {
	if err := n.Check(); err != nil {
		return k, err
	}
	err = db.in(ctx, func(ctx context.Context, tx *txn) error {
		var there bool
		if err := tx.QueryRow(ctx, projectThereSQL, n.Project).Scan(&there); err != nil {
			return err
		}
		if !there {
			return access.NoProject()
		}
		if k, err = n.Key(tx.now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, keyForgetSQL, n.Project, tx.now.Add(-access.Memory)); err != nil {
			return err
		}
		scopes := column(k.Scopes, func(s access.Scope) string { return string(s) })
		return tx.QueryRow(ctx, keyInsertSQL, k.Project, k.Name, n.Hash, scopes, k.ExpiresAt).Scan(&k.ID)
	})
	return k, wrap("create key", n.Name, err)
}

// Key finds one of any project.
func (db *DB) Key(ctx context.Context, id int64) (k access.Key, err error) {
	err = db.alone(ctx, func(ctx context.Context) error {
		k, _, err = scanKey(db.conn(ctx).QueryRow(ctx, keyByIDSQL, id))
		return err
	})
	return k, wrap("key", "", err)
}

// Keys lists a project's, newest first.
func (db *DB) Keys(ctx context.Context, project, after int64, limit int) (out []access.Key, err error) {
	err = db.alone(ctx, func(ctx context.Context) error {
		rows, err := db.conn(ctx).Query(ctx, keyListSQL, project, after, limit)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (access.Key, error) {
			k, _, err := scanKey(r)
			return k, err
		})
		return err
	})
	return out, wrap("keys", "", err)
}

// RevokeKey ends one for good.
func (db *DB) RevokeKey(ctx context.Context, id int64) (k access.Key, err error) {
	err = db.in(ctx, func(ctx context.Context, tx *txn) error {
		k, _, err = scanKey(tx.QueryRow(ctx, keyRevokeSQL, id))
		return err
	})
	return k, wrap("revoke key", "", err)
}
