package verify

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/onceward/onceward/internal/history"
)

// watched are the tables whose every change is recorded, and their columns by their names in history.State. A time ends in @.
var watched = []struct{ table, columns string }{
	{"messages", "lease=lease_no leased=leased vis=vis@ receives=receives max=max_receives origin=origin_at@ dead=dead_at@ claim=claim_id"},
	{"claims", "state=state policy=policy fence=fence until=lease_until@"},
	{"groups", "in_flight=in_flight slots=slots"},
	{"attempts", "claim=claim_id fence=fence"},
	{"claim_notes", "claim=claim_id fence=fence what=what"},
	{"events", "key=event_id"},
	{"deliveries", "other=event claim=claim_id"},
	{"publish_keys", "other=message_id key=key"},
	{"redrives", "total=total moved=moved left=left_behind"},
}

// recording is the changes of a store's rows, as triggers write them down.
type recording struct {
	ground ground
	ctx    context.Context
	end    context.CancelFunc
	looks  sync.WaitGroup

	mu   sync.Mutex
	cuts []int64 // up to where the changes were committed at each look
	err  error
}

// record puts triggers on a store that a server has made.
func record(ctx context.Context, g ground) (*recording, error) {
	made := []string{"CREATE TABLE verify_rows (n INTEGER PRIMARY KEY AUTOINCREMENT, tx INTEGER, at INTEGER, tab TEXT, id INTEGER, old TEXT, new TEXT)"}
	trigger := sqliteTrigger
	if g.shared() {
		made = []string{"CREATE TABLE verify_rows (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tx bigint, at bigint, tab text, id bigint, old text, new text)"}
		trigger = postgresTrigger
	}
	for _, w := range watched {
		made = append(made, trigger(w.table, strings.Fields(w.columns))...)
	}
	for _, text := range made {
		if _, err := g.db().ExecContext(ctx, text); err != nil {
			return nil, fmt.Errorf("record the store: %s: %w", text, err)
		}
	}
	r := &recording{ground: g}
	r.ctx, r.end = context.WithCancel(ctx)
	if !g.shared() {
		r.looks.Go(r.look)
	}
	return r, nil
}

func sqliteTrigger(table string, columns []string) (made []string) {
	state := func(of string) string {
		var parts []string
		for _, c := range columns {
			name, column, _ := strings.Cut(c, "=")
			parts = append(parts, fmt.Sprintf("'%s', coalesce(%s.%s, 0)", name, of, strings.TrimSuffix(column, "@")))
		}
		return "json_object(" + strings.Join(parts, ", ") + ")"
	}
	for op, values := range map[string][3]string{
		"INSERT": {"new", "NULL", state("new")}, "UPDATE": {"new", state("old"), state("new")}, "DELETE": {"old", state("old"), "NULL"},
	} {
		id := values[0] + ".id"
		if table == "publish_keys" {
			id = values[0] + ".message_id"
		}
		made = append(made, fmt.Sprintf(`CREATE TRIGGER verify_rows_%s_%s AFTER %[2]s ON %[1]s BEGIN
		  INSERT INTO verify_rows (tx, at, tab, id, old, new) VALUES (0, CAST(unixepoch('subsec') * 1000000 AS INTEGER), '%[1]s', %[3]s, %[4]s, %[5]s); END`,
			table, op, id, values[1], values[2]))
	}
	return made
}

func postgresTrigger(table string, columns []string) []string {
	state := func(of string) string {
		var parts []string
		for _, c := range columns {
			name, column, _ := strings.Cut(c, "=")
			value := of + "." + column
			switch {
			case strings.HasSuffix(column, "@"):
				value = "coalesce((extract(epoch FROM " + strings.TrimSuffix(value, "@") + ") * 1000000)::bigint, 0)"
			case name == "leased":
				value += "::int"
			case name == "state" || name == "policy" || name == "what" || name == "key":
				value += "::text"
			default:
				value = "coalesce(" + value + ", 0)"
			}
			parts = append(parts, "'"+name+"', "+value)
		}
		return "json_build_object(" + strings.Join(parts, ", ") + ")::text"
	}
	id := "id"
	if table == "publish_keys" {
		id = "message_id"
	}
	return []string{
		fmt.Sprintf(`CREATE FUNCTION verify_rows_%[1]s() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		  IF TG_OP = 'INSERT' THEN
		    INSERT INTO verify_rows (tx, at, tab, id, new) VALUES (pg_current_xact_id()::text::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, '%[1]s', NEW.%[2]s, %[3]s);
		  ELSIF TG_OP = 'UPDATE' THEN
		    INSERT INTO verify_rows (tx, at, tab, id, old, new) VALUES (pg_current_xact_id()::text::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, '%[1]s', NEW.%[2]s, %[4]s, %[3]s);
		  ELSE
		    INSERT INTO verify_rows (tx, at, tab, id, old) VALUES (pg_current_xact_id()::text::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, '%[1]s', OLD.%[2]s, %[4]s);
		  END IF;
		  RETURN NULL; END $$`, table, id, state("NEW"), state("OLD")),
		fmt.Sprintf("CREATE TRIGGER verify_rows AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION verify_rows_%[1]s()", table),
	}
}

// look notes what is committed, again and again: SQLite's triggers cannot tell transactions apart, and a transaction is never seen in part.
func (r *recording) look() {
	for r.ctx.Err() == nil {
		n, err := column[int64](r.ctx, r.ground, "SELECT coalesce(max(n), 0) FROM verify_rows")
		r.mu.Lock()
		switch {
		case err == nil && (len(r.cuts) == 0 || r.cuts[len(r.cuts)-1] != n[0]):
			r.cuts = append(r.cuts, n[0])
		case err != nil && r.ctx.Err() == nil:
			r.err = err
		}
		r.mu.Unlock()
		pause(r.ctx, 5*time.Millisecond)
	}
}

func (r *recording) stop() {
	r.end()
	r.looks.Wait()
}

// read gives what was recorded.
func (r *recording) read(ctx context.Context) (out []history.Row, err error) {
	r.stop()
	rows, err := r.ground.db().QueryContext(ctx, "SELECT n, tx, at, tab, id, coalesce(old, ''), coalesce(new, '') FROM verify_rows ORDER BY n")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	state := func(text string) *history.State {
		if text == "" {
			return nil
		}
		s := new(history.State)
		err = errors.Join(err, json.Unmarshal([]byte(text), s))
		return s
	}
	cut := 0
	for rows.Next() {
		var v history.Row
		var old, now string
		if err := rows.Scan(&v.N, &v.Tx, &v.At, &v.Table, &v.ID, &old, &now); err != nil {
			return nil, err
		}
		v.Old, v.New = state(old), state(now)
		if v.Tx == 0 {
			for cut < len(r.cuts) && r.cuts[cut] < v.N {
				cut++
			}
			v.Tx = int64(cut)
		}
		out = append(out, v)
	}
	return out, errors.Join(err, rows.Err(), r.err)
}

// history gives all there is of the round.
func (l *long) history(ctx context.Context, rested bool) (h history.History, err error) {
	h.Ended = rested
	if h.Rows, err = l.rows.read(ctx); err != nil {
		return h, err
	}
	logs, err := filepath.Glob(filepath.Join(l.dir, "*.jsonl"))
	if err != nil {
		return h, err
	}
	for _, name := range logs {
		f, err := os.Open(name)
		if err != nil {
			return h, err
		}
		events, err := history.Read(f)
		f.Close()
		if err != nil {
			return h, fmt.Errorf("%s: %w", name, err)
		}
		h.Events = append(h.Events, events...)
	}
	return h, nil
}
