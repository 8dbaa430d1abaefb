package main

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"unsafe"

	driver "modernc.org/sqlite"
)

// errUncounted: the driver of race builds tells nothing.
var errUncounted = errors.New("the SQLite driver does not count pages")

// pages is how many pages the calls to the store have touched so far, in its cache or not.
func (g *ground) pages(ctx context.Context) (int64, error) {
	if g.conn != nil {
		n, _, err := g.blocks(ctx)
		return n, err
	}
	return cachePages(g.db)
}

// cachePages sums SQLite's counters over the store's connections, which it keeps to itself, as it should: hits and misses of their caches.
func cachePages(db any) (sum int64, err error) {
	field := func(of reflect.Value, name string) reflect.Value {
		f := of.Elem().FieldByName(name)
		return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
	}
	count := func(session reflect.Value) error {
		if session.IsNil() { // opened at its first use
			return nil
		}
		return field(session, "conn").Interface().(*sql.Conn).Raw(func(c any) error {
			status, ok := c.(driver.DBStatus)
			if !ok {
				return errUncounted
			}
			for _, op := range []driver.DBStatusOp{driver.DBStatusCacheHit, driver.DBStatusCacheMiss} {
				n, _, err := status.Status(op, false)
				if err != nil {
					return err
				}
				sum += int64(n)
			}
			return nil
		})
	}
	store := reflect.ValueOf(db)
	if err := count(field(store, "writer")); err != nil {
		return 0, err
	}
	readers := field(store, "reading")
	var taken []reflect.Value
	for range readers.Cap() {
		s, _ := readers.Recv()
		taken = append(taken, s)
		err = errors.Join(err, count(s))
	}
	for _, s := range taken {
		readers.Send(s)
	}
	return sum, err
}
