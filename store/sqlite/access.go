package sqlite

import (
	"context"

	"github.com/onceward/onceward/access"
)

// KeyByHash finds a key, with whether it is live by the database's clock.
func (db *DB) KeyByHash(ctx context.Context, hash []byte) (k access.Key, live bool, err error) {
	err = db.read(ctx, "key", func(t *tx) error {
		ok, err := found(t.row("key_by_hash", hash).Scan(&k.ID, &k.Project, &k.Name, toJSON(&k.Scopes), toTime(&k.CreatedAt), toTime(&k.ExpiresAt), toTime(&k.RevokedAt)))
		if err == nil && !ok {
			err = notFound("there is no such key")
		}
		live = k.Live(t.now)
		return err
	})
	if err != nil {
		return access.Key{}, false, err
	}
	return k, live, nil
}

// SetRootKey makes hash the default project's root key of a name, in place of the one of that name.
func (db *DB) SetRootKey(ctx context.Context, name string, hash []byte) error {
	return db.write(ctx, "set_root_key", 0, func(t *tx) error {
		// A key of this hash under another name would be a second row for one secret.
		if _, err := t.exec("key_delete", access.DefaultProject, name, hash); err != nil {
			return err
		}
		id, err := t.id(seqKeys)
		if err != nil {
			return err
		}
		scopes, err := asJSON([]access.Scope{access.Root})
		if err != nil {
			return err
		}
		_, err = t.exec("key_insert", id, access.DefaultProject, name, hash, scopes, at(t.now))
		return err
	})
}

// HasKeys reports whether the store has any key.
func (db *DB) HasKeys(ctx context.Context) (has bool, err error) {
	err = db.read(ctx, "has_keys", func(t *tx) error { return t.row("key_any").Scan(&has) })
	return has, err
}
