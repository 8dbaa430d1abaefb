package onceward

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const secretsKeyLen = 32

// ParseSecretsKey reads a secrets key as text: 32 bytes in hexadecimal or base64.
func ParseSecretsKey(text string) ([]byte, error) {
	b := bytes.TrimSpace([]byte(text))
	if k, err := hex.DecodeString(string(b)); err == nil && len(k) == secretsKeyLen {
		return k, nil
	}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if k, err := e.DecodeString(string(b)); err == nil && len(k) == secretsKeyLen {
			return k, nil
		}
	}
	return nil, fmt.Errorf("the secrets key must be %d bytes in hexadecimal or base64; `openssl rand -hex %d` makes one", secretsKeyLen, secretsKeyLen)
}

// secretsKey finds the key by which endpoints' secrets are sealed, or makes one for SQLite. made is the file it wrote; empty if it
// wrote none.
func (c Config) secretsKey(s storeURL) (key []byte, made string, err error) {
	if c.SecretsKey != nil {
		return c.SecretsKey, "", nil
	}
	file := c.SecretsKeyFile
	if file == "" {
		if s.path == "" {
			return nil, "", errors.New("on PostgreSQL a secrets key is needed, the same for every server: give SecretsKey or SecretsKeyFile" +
				" (ONCEWARD_SECRETS_KEY, --secrets-key-file); `openssl rand -hex 32` makes one")
		}
		file = s.path + ".key"
	}
	text, err := os.ReadFile(file)
	switch {
	case err == nil:
		key, err = ParseSecretsKey(string(text))
		if err != nil {
			err = fmt.Errorf("secrets key file %s: %w", file, err)
		}
		return key, "", err
	case errors.Is(err, fs.ErrNotExist) && s.path != "":
		key, err = makeSecretsKey(file)
		return key, file, err
	}
	return nil, "", fmt.Errorf("secrets key file: %w", err)
}

// makeSecretsKey writes a new key to a new file and sees it on disk before it is used.
func makeSecretsKey(file string) ([]byte, error) {
	key := make([]byte, secretsKeyLen)
	rand.Read(key)
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make secrets key file: %w", err)
	}
	_, err = f.WriteString(hex.EncodeToString(key) + "\n")
	err = errors.Join(err, f.Sync(), f.Close(), syncFolder(filepath.Dir(file)))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make secrets key file %s: %w", file, err), os.Remove(file))
	}
	return key, nil
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
