package webhook_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/webhook"
)

// What docs/webhooks.md tells receivers to verify with, run as printed, where the language is installed.
func TestDocumentedVerifiers(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	secret, body, now := webhook.NewSecret(), `{"b": 1.0, "a": "é"}`, time.Now()
	raw, err := webhook.ParseSecret(secret)
	if err != nil {
		t.Fatal(err)
	}
	header := func(at time.Time, signature string) map[string]string {
		return map[string]string{"webhook-id": "evt_1", "webhook-timestamp": fmt.Sprint(at.Unix()), "webhook-signature": signature}
	}
	good := webhook.Sign(raw, "evt_1", now, []byte(body))
	old := now.Add(-time.Hour)
	cases := []map[string]string{
		header(now, good), header(now, "v1,AAAA v1a,BBBB "+good),
		header(now, "v1,AAAA"), header(now, strings.Replace(good, "v1,", "v2,", 1)), header(old, webhook.Sign(raw, "evt_1", old, []byte(body))),
		{},
	}
	const want = "true true false false false false"
	for _, c := range []struct{ language, program, ext, call string }{
		{"js", "node", ".mjs", "\nconsole.log(%s.map((h) => verify(h, Buffer.from(%s), %s)).join(' '));\n"},
		{"python", "python3", ".py", "\nprint(*(str(verify(h, %[2]s.encode(), %[3]s)).lower() for h in %[1]s))\n"},
	} {
		t.Run(c.language, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(c.program)
			if err != nil {
				t.Skip(c.program, "is not installed")
			}
			sample := regexp.MustCompile("(?s)```" + c.language + "\n(.*?)```").FindSubmatch(doc)
			if sample == nil {
				t.Fatal("no sample in the document")
			}
			text := func(v any) string { b, _ := json.Marshal(v); return string(b) }
			file := filepath.Join(t.TempDir(), "verify"+c.ext)
			src := string(sample[1]) + fmt.Sprintf(c.call, text(cases), text(body), text(secret))
			if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), program, file).CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != want {
				t.Errorf("got %s, want %s: %v", got, want, err)
			}
		})
	}
}
