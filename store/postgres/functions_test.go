package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward/internal/canon"
	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/internal/pgtest"
)

// withFunctions gives a store that has the functions for teams.
func withFunctions(t testing.TB) (db *DB, url string) {
	t.Helper()
	url = pgtest.Database(t)
	if _, err := Functions(t.Context(), url, true); err != nil {
		t.Fatal(err)
	}
	return openAt(t, url), url
}

// A function that changes is replaced in stores that have it only if the version grows with it.
func TestFunctionsHaveTheirVersion(t *testing.T) {
	t.Parallel()
	h := sha256.New()
	err := fs.WalkDir(functions, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(functions, path)
		h.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(h.Sum(nil))[:16]; got != functionsSum {
		t.Errorf("the functions' sum is %s: where a released version has others, make functionsVersion (%d) one more; then write the sum here", got, functionsVersion)
	}
}

// functionsSum is that of the functions of functionsVersion.
const functionsSum = "d711b2f903a2082f"

// They are made, made again, kept by a server's start, and dropped.
func TestFunctionsComeAndGo(t *testing.T) {
	t.Parallel()
	db, url := withFunctions(t)
	there := func() int {
		return count(t, db, "SELECT count(*) FROM pg_proc WHERE proname IN ('onceward_publish', 'onceward_send', 'onceward_canonical')")
	}
	if n := there(); n != 3 {
		t.Errorf("%d of three functions", n)
	}
	exec(t, db, "UPDATE meta SET value = '0' WHERE name LIKE 'functions%'")
	exec(t, db, "CREATE OR REPLACE FUNCTION onceward_canonical(v json) RETURNS text LANGUAGE sql AS 'SELECT ''old'''")
	openAt(t, url)
	if s := query[string](t, db, "SELECT onceward_canonical('1')"); s != "1e0" {
		t.Errorf("a server's start left the older function: %s", s)
	}
	if n := count(t, db, "SELECT count(*) FROM pg_proc WHERE proname IN ('onceward_publish', 'onceward_send', 'onceward_tx_publish', 'onceward_tx_send') AND has_function_privilege('public', oid, 'EXECUTE')"); n != 0 {
		t.Errorf("everybody may call %d of the functions", n)
	}
	if _, err := Functions(t.Context(), url, false); err != nil {
		t.Fatal(err)
	}
	openAt(t, url)
	if n := there(); n != 0 {
		t.Errorf("%d of three functions after they were dropped", n)
	}
}

// A value's form in SQL is that of package canon, or there is none: never another, and never one for two that differ.
func TestCanonicalInSQL(t *testing.T) {
	t.Parallel()
	db, _ := withFunctions(t)
	for _, v := range append(slices.Clone(formSeeds), randomJSON(400)...) {
		sameForm(t, db, v)
	}
}

var formSeeds = []string{
	`null`, ` true`, "\n[ ] ", `{}`, `{"b":1,"a":{"d":[1,{"z":"é","y":"\u00e9"}],"c":null}}`, `"\u0041\/\\\"\b\f\n\r\t\u001f\u007f\u2028"`, `"` + "\x7f" + `"`,
	`{"\ud83d\ude00":1,"\uffff":2,"\ue000":3,"z":4,"é":5,"\ud7ff":6,"\ue000\ud83d\ude00":7,"\udbff\udfff\uf000":8,"\udbff\udfff":9,"":0}`,
	`1`, `-0`, `0e5`, `10`, `1.50`, `-15e-1`, `1e400`, `1E+400`, `9007199254740993`, `1e99999999999999999999999999`, `-0.00100e-7`, `123456789012345678901234567890.5000`, `0.1e1`,
	`{"a":1,"a":1}`, `{"a":1,"\u0061":2}`, `"\ud800"`, `"\u0000"`, `{"\u0000":1}`, `01`, `[1,]`, `"` + "\x01" + `"`, `1 2`, ``, `{"a":{"b":1,"b":2}}`, "\ufeff1", `[[[[[[[[[[1]]]]]]]]]]`, "\"\u2028\"", `"\uD83D\uDE00"`,
}

func sameForm(t *testing.T, db *DB, v string) {
	t.Helper()
	want, bad := canon.Append(nil, jsontext.Value(v))
	var got string
	err := db.pool.QueryRow(t.Context(), "SELECT onceward_canonical($1::text::json)", v).Scan(&got)
	switch {
	case err == nil && bad != nil:
		t.Errorf("%q is %q in SQL, and no JSON elsewhere: %v", v, got, bad)
	case err == nil && got != string(want):
		t.Errorf("%q is %q in SQL, %q elsewhere", v, got, want)
	case err != nil && bad == nil && !strings.Contains(v, `\u0000`) && !strings.Contains(err.Error(), "stack depth") && !strings.Contains(err.Error(), "overflows numeric"):
		t.Errorf("%q has no form in SQL: %v", v, err)
	}
}

func FuzzCanonicalInSQL(f *testing.F) {
	for _, v := range formSeeds {
		f.Add(v)
	}
	url := pgtest.Database(f)
	if _, err := Functions(context.Background(), url, true); err != nil {
		f.Fatal(err)
	}
	db := openAt(f, url)
	f.Fuzz(func(t *testing.T, v string) {
		sameForm(t, db, strings.ReplaceAll(v, "\x00", "")) // no text of the database's has one
	})
}

// randomJSON makes values whose names and numbers are often alike.
func randomJSON(n int) (out []string) {
	texts := []string{`"a"`, `"\u0061"`, `"b"`, `"é"`, `"\u00e9"`, `"` + "\U0001F600" + `"`, `"\ud83d\ude00"`, `"` + "\uE000" + `"`, `"\n"`, `"\u000a"`, `"\\"`, `"\/"`, `"ÿ\uffff"`, `""`}
	var value func(depth int) string
	value = func(depth int) string {
		switch k := rand.N(8); {
		case k < 2 && depth > 0:
			members := make([]string, rand.N(5))
			for i := range members {
				members[i] = pick(texts...) + pick(":", " : ") + value(depth-1)
			}
			return "{" + strings.Join(members, pick(",", " ,\n")) + "}"
		case k < 4 && depth > 0:
			items := make([]string, rand.N(5))
			for i := range items {
				items[i] = value(depth - 1)
			}
			return pick("[", "[ ") + strings.Join(items, ",") + "]"
		case k < 6:
			s := pick("", "-") + pick("0", "1", "12", "100", strconv.Itoa(rand.IntN(1e9))) + pick("", "", ".0", ".50", ".0"+strconv.Itoa(rand.IntN(1e6)))
			return s + pick("", "", "e0", "E+3", "e-7", "e"+strconv.Itoa(rand.N(1000)))
		case k == 6:
			return pick("true", "false", "null")
		}
		return pick(texts...)
	}
	for range n {
		out = append(out, value(4))
	}
	return out
}

// Ids in SQL are those that HTTP shows, and are read back in their own project alone.
func TestIDsInSQL(t *testing.T) {
	t.Parallel()
	db, _ := withFunctions(t)
	codec := ids.New(db.Secret())
	for _, row := range []int64{1, 2, 255, 256, 1 << 40, 1<<63 - 1, rand.Int64()} {
		for _, kind := range []ids.Kind{ids.Message, ids.Endpoint} {
			project := rand.Int64N(1000)
			want := codec.Encode(kind, project, row)
			if got := query[string](t, db, "SELECT onceward_id($1, $2, $3)", string(kind), project, row); got != want {
				t.Errorf("%s of %d in %d is %s, want %s", kind, row, project, got, want)
			}
			if n := query[int64](t, db, "SELECT onceward_row($1, $2, $3)", string(kind), project, want); n != row {
				t.Errorf("%s is row %d, want %d", want, n, row)
			}
			for _, other := range []string{want[:len(want)-1] + "!", want + "0", strings.ToLower(want), string(kind) + strings.Repeat("z", 24), ""} {
				if other != want && query[bool](t, db, "SELECT onceward_row($1, $2, $3) IS NOT NULL", string(kind), project, other) {
					t.Errorf("%q is a row of somebody's", other)
				}
			}
			if query[bool](t, db, "SELECT onceward_row($1, $2, $3) IS NOT NULL", string(kind), project+1, want) {
				t.Errorf("%s is a row of another project", want)
			}
		}
	}
}

func sqlState(err error) string {
	if e, ok := err.(*pgconn.PgError); ok {
		return e.Code
	}
	return ""
}
