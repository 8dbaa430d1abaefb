package sqlite

import (
	"context"
	"math"

	"github.com/onceward/onceward/access"
)

// KeyByHash finds a key, with whether it is live by the database's clock.
func (db *DB) KeyByHash(ctx context.Context, hash []byte) (k access.Key, live bool, err error) {
	err = db.read(ctx, "key", func(t *tx) (err error) {
		k, err = t.key("key_by_hash", hash)
		live = k.Live(t.now)
		return err
	})
	if err != nil {
		return access.Key{}, false, err
	}
	return k, live, nil
}

// key finds one.
func (t *tx) key(statement string, by any) (k access.Key, err error) {
	ok, err := found(loadKey(t.row(statement, by), &k))
	if err == nil && !ok {
		err = access.NoKey()
	}
	return k, err
}

func loadKey(s scanner, k *access.Key) error {
	return s.Scan(&k.ID, &k.Project, &k.Name, toJSON(&k.Scopes), toTime(&k.CreatedAt), toTime(&k.ExpiresAt), toTime(&k.RevokedAt))
}

// SetRootKey makes hash the default project's root key of a name, in place of the one of that name.
func (db *DB) SetRootKey(ctx context.Context, name string, hash []byte) error {
	return db.write(ctx, "set_root_key", 0, func(t *tx) error {
		if _, err := t.exec("key_root_drop", access.DefaultProject, name, hash); err != nil {
			return err
		}
		id, err := t.id(seqKeys)
		if err == nil {
			_, err = t.exec("key_root_add", id, access.DefaultProject, name, hash, at(t.now))
		}
		return err
	})
}

// HasKeys reports whether the store has any key.
func (db *DB) HasKeys(ctx context.Context) (has bool, err error) {
	err = db.read(ctx, "has_keys", func(t *tx) error { return t.row("key_any").Scan(&has) })
	return has, err
}

// CreateKey makes a key, and forgets some that ended long ago.
func (db *DB) CreateKey(ctx context.Context, n access.NewKey) (k access.Key, err error) {
	if err := n.Check(); err != nil {
		return k, err
	}
	err = db.write(ctx, "create_key", 0, func(t *tx) error {
		var there bool
		if err := t.row("project_there", n.Project).Scan(&there); err != nil {
			return err
		}
		if !there {
			return access.NoProject()
		}
		if k, err = n.Key(t.now); err != nil {
			return err
		}
		if _, err := t.exec("key_forget", n.Project, at(t.now.Add(-access.Memory))); err != nil {
			return err
		}
		if k.ID, err = t.id(seqKeys); err != nil {
			return err
		}
		scopes, err := asJSON(k.Scopes)
		if err == nil {
			_, err = t.exec("key_insert", k.ID, k.Project, k.Name, n.Hash, scopes, at(k.CreatedAt), at(k.ExpiresAt))
		}
		return err
	})
	return k, err
}

// Key finds one of any project.
func (db *DB) Key(ctx context.Context, id int64) (k access.Key, err error) {
	err = db.read(ctx, "key", func(t *tx) (err error) {
		k, err = t.key("key_by_id", id)
		return err
	})
	return k, err
}

// Keys lists a project's, newest first.
func (db *DB) Keys(ctx context.Context, project, after int64, limit int) (out []access.Key, err error) {
	if after == 0 {
		after = math.MaxInt64
	}
	err = db.read(ctx, "keys", func(t *tx) error {
		return t.each("key_list", func(s scanner) error {
			var k access.Key
			err := loadKey(s, &k)
			out = append(out, k)
			return err
		}, project, after, limit)
	})
	return out, err
}

// RevokeKey ends one for good.
func (db *DB) RevokeKey(ctx context.Context, id int64) (k access.Key, err error) {
	err = db.write(ctx, "revoke_key", 0, func(t *tx) (err error) {
		if _, err := t.exec("key_revoke", at(t.now), id); err != nil {
			return err
		}
		k, err = t.key("key_by_id", id)
		return err
	})
	return k, err
}
