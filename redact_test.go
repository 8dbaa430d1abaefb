package onceward

import (
	"strings"
	"testing"
)

func TestRedactStore(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"sqlite:onceward.db":                          "sqlite:onceward.db",
		"postgres://db:5432/app":                      "postgres://db:5432/app",
		"postgres://ann:secret@db:5432/app":           "postgres://ann:xxxxx@db:5432/app",
		"postgres://ann:s@cret@db/app":                "postgres://ann:xxxxx@db/app",
		"postgres://ann@db/app?password=secret&a=b":   "postgres://ann@db/app?password=xxxxx&a=b",
		"postgres://ann@db/app?sslpassword=secret":    "postgres://ann@db/app?sslpassword=xxxxx",
		"postgres://ann:s%zzecret@db/app":             "postgres://xxxxx",
		"postgres://ann:secret":                       "postgres://xxxxx",
		"postgres://ann:sec/ret@db":                   "postgres://xxxxx",
		"postgres://ann:1/secret@db":                  "postgres://ann:xxxxx@db",
		"host=db user=ann password=secret dbname=app": "host=db user=ann password=xxxxx dbname=app",
		"host=db password = 'my secret' user=ann":     "host=db password = xxxxx user=ann",
	} {
		got := RedactStore(in)
		if got != want || strings.Contains(got, "secret") {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if _, err := parseStore(in); err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// FuzzRedactStore: whatever stands around it, a password is not shown.
func FuzzRedactStore(f *testing.F) {
	for _, s := range [][2]string{{"", ""}, {"a@", "b"}, {"%zz", ""}, {"1/", ""}, {"#", "?"}, {"'", "' "}, {"\n", "\x00"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		for _, s := range []string{"postgres://u:" + before + "hidden" + after + "@h/db", "postgres://u@h/db?password=hidden" + strings.Trim(after, "& ")} {
			got := RedactStore(s)
			if _, err := parseStore(s); err != nil {
				got += err.Error()
			}
			if strings.Contains(got, "hidden") {
				t.Fatalf("%q: %q", s, got)
			}
		}
	})
}
