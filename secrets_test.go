package onceward

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
)

func TestSecretsKeyAsText(t *testing.T) {
	t.Parallel()
	key := bytes.Repeat([]byte{0xfb, 1}, 16)
	for _, text := range []string{
		hex.EncodeToString(key), hex.EncodeToString(key) + "\n", base64.StdEncoding.EncodeToString(key), base64.RawURLEncoding.EncodeToString(key),
	} {
		if got, err := ParseSecretsKey(text); err != nil || !bytes.Equal(got, key) {
			t.Errorf("%q: %x %v", text, got, err)
		}
	}
	for _, text := range []string{"", "hello", hex.EncodeToString(key[:31]), base64.StdEncoding.EncodeToString(append(key, 1))} {
		if _, err := ParseSecretsKey(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestSecretsKeyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	where := storeURL{path: filepath.Join(dir, "a.db")}
	first, made, err := Config{}.secretsKey(where)
	if err != nil || made != where.path+".key" {
		t.Fatal(made, err)
	}
	info, err := os.Stat(where.path + ".key")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	again, made, err := Config{}.secretsKey(where)
	if err != nil || made != "" || !bytes.Equal(first, again) {
		t.Errorf("the second start: %q %v", made, err)
	}
	if _, _, err := (Config{}).secretsKey(storeURL{postgres: "postgres://x/y"}); err == nil {
		t.Error("PostgreSQL without a key was taken")
	}
	if _, _, err := (Config{SecretsKeyFile: filepath.Join(dir, "none")}).secretsKey(storeURL{postgres: "postgres://x/y"}); err == nil {
		t.Error("a key was made for PostgreSQL")
	}
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, []byte("hush-hush"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := (Config{SecretsKeyFile: bad}).secretsKey(where); err == nil || bytes.Contains([]byte(err.Error()), []byte("hush")) {
		t.Errorf("got %v", err)
	}
}
