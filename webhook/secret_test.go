package webhook

import (
	"bytes"
	"encoding/base64"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/onceward/onceward/internal/fault"
)

func TestSealer(t *testing.T) {
	t.Parallel()
	if _, err := NewSealer(make([]byte, 31)); err == nil {
		t.Error("a key of 31 bytes was taken")
	}
	s := rules(t).Sealer
	other, err := NewSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		project, secret := rapid.Int64().Draw(t, "project"), rapid.SliceOf(rapid.Byte()).Draw(t, "secret")
		sealed, err := s.Seal(project, secret)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Open(project, sealed); err != nil || !bytes.Equal(got, secret) {
			t.Fatalf("opened %q, %v", got, err)
		}
		again, err := s.Seal(project, secret)
		if err != nil || bytes.Equal(again, sealed) {
			t.Fatalf("two seals are the same: %v", err)
		}
		if len(secret) > 8 && bytes.Contains(sealed, secret) {
			t.Fatal("the secret can be read")
		}
		if _, err := s.Open(project+1, sealed); err == nil {
			t.Fatal("it opens for another project")
		}
		if _, err := other.Open(project, sealed); err == nil {
			t.Fatal("it opens with another key")
		}
		i := rapid.IntRange(0, len(sealed)-1).Draw(t, "at")
		sealed[i] ^= 1
		if _, err := s.Open(project, sealed); err == nil {
			t.Fatalf("it opens with byte %d changed", i)
		}
	})
	for _, short := range [][]byte{nil, {}, {1}, make([]byte, 20)} {
		if _, err := s.Open(1, short); err == nil {
			t.Errorf("%v was opened", short)
		}
	}
	var none *Sealer
	if _, err := none.Seal(1, nil); err == nil {
		t.Error("sealed without a key")
	}
	if _, err := none.Open(1, nil); err == nil {
		t.Error("opened without a key")
	}
}

func TestRotate(t *testing.T) {
	t.Parallel()
	r := rules(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	e, first, err := EndpointSpec{URL: new("https://example.com")}.New(7, r)
	if err != nil {
		t.Fatal(err)
	}
	valid := func(at time.Time, want ...string) {
		t.Helper()
		got, err := secretsOf(&e, r.Sealer, at)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d secrets, want %d: %v", len(got), len(want), err)
		}
		for i := range want {
			raw, _ := ParseSecret(want[i])
			if !bytes.Equal(got[i], raw) {
				t.Errorf("secret %d is another", i)
			}
		}
	}
	second, err := Rotate(now, &e, nil, 24*time.Hour, r)
	if err != nil {
		t.Fatal(err)
	}
	valid(now, second, first)
	valid(now.Add(24*time.Hour-1), second, first)
	valid(now.Add(24*time.Hour), second)

	given := "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{9}, 24))
	third, err := Rotate(now.Add(time.Hour), &e, &given, time.Hour, r)
	if err != nil || third != given {
		t.Fatal(third, err)
	}
	valid(now.Add(time.Hour), third, second, first)
	valid(now.Add(2*time.Hour), third) // a shorter grace ends the former ones sooner

	fourth, err := Rotate(now.Add(2*time.Hour), &e, nil, 0, r)
	if err != nil || len(e.Secrets) != 1 {
		t.Fatal(len(e.Secrets), err)
	}
	valid(now.Add(2*time.Hour), fourth)

	for range MaxSecrets - 1 {
		if _, err := Rotate(now, &e, nil, time.Hour, r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Rotate(now, &e, nil, time.Hour, r); !errors.Is(err, ErrConflict) || len(e.Secrets) != MaxSecrets {
		t.Errorf("one too many: %v, %d", err, len(e.Secrets))
	}
	if _, err := Rotate(now, &e, nil, 0, r); err != nil || len(e.Secrets) != 1 {
		t.Errorf("without grace: %v, %d", err, len(e.Secrets))
	}
	_, err = Rotate(now, &e, nil, -1, r)
	badField(t, err, "/grace_seconds")
	_, err = Rotate(now, &e, nil, MaxGrace+1, r)
	badField(t, err, "/grace_seconds")
	_, err = Rotate(now, &e, new("whsec_"), 0, r)
	badField(t, err, "/secret")
	if !errors.Is(err, fault.Sentinel(fault.InvalidArgument)) || len(e.Secrets) != 1 {
		t.Errorf("a refused rotation changed the endpoint: %v", err)
	}
	e.Secrets = nil
	if _, err := secretsOf(&e, r.Sealer, now); !errors.Is(err, errNoSecret) {
		t.Error(err)
	}
}
