package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

const (
	ledgerPath   = "/v1/ledger/"
	claimAnswer  = "verdict key fence attempt ambiguous lease_until op_id retry_after_seconds reason result"
	claimFields  = "scope key state policy fence attempt tries max_attempts ambiguous op_id owner work_hash receiver_window_seconds message_id lease_until next_attempt_at finished_at origin_at created_at last_error"
	historyField = "at what fence who detail"
)

// claim asks for a key and wants a verdict.
func (s *server) claim(t testing.TB, verdict, scope, key string, more object) object {
	t.Helper()
	d := s.do(t, "POST", ledgerPath+"claim", with(object{"scope": scope, "key": key}, more))
	if d["verdict"] != verdict {
		t.Fatalf("the verdict on %s is %v, want %s: %v", key, d["verdict"], verdict, d)
	}
	return d
}

// say sends a holder's word.
func (s *server) say(t testing.TB, verb, scope, key string, fence any, more object) object {
	t.Helper()
	return s.do(t, "POST", ledgerPath+verb, with(object{"scope": scope, "key": key, "fence": fence}, more))
}

func (s *server) lookUp(t testing.TB, scope, key string) object {
	t.Helper()
	return s.do(t, "GET", ledgerPath+"claims?"+url.Values{"scope": {scope}, "key": {key}}.Encode(), nil)
}

var opID = regexp.MustCompile(`^op_[0-9a-f]{32}$`)

func checkClaims(t *testing.T, s *server) {
	a := s.claim(t, "granted", "mail", "k", object{"owner": "one"})
	fields(t, "granted", a, claimAnswer)
	is(t, "granted", a, object{"key": "k", "fence": 1, "attempt": 1, "ambiguous": false, "retry_after_seconds": nil, "reason": nil, "result": nil})
	if left := time.Until(stamp(t, a, "lease_until")); left < 50*time.Second || left > 61*time.Second {
		t.Errorf("a lease of 60 s ends in %v", left)
	}
	if !opID.MatchString(text(a["op_id"])) {
		t.Errorf("op_id is %v", a["op_id"])
	}
	b := s.claim(t, "busy", "mail", "k", object{"owner": "two"})
	fields(t, "busy", b, claimAnswer)
	is(t, "busy", b, object{"fence": nil, "attempt": nil, "ambiguous": nil, "lease_until": nil, "op_id": a["op_id"], "result": nil, "reason": nil})
	if wait, _ := b["retry_after_seconds"].(float64); wait < 50 || wait > 60 || wait != float64(int(wait)) {
		t.Errorf("busy for %v s of a lease of 60", b["retry_after_seconds"])
	}
	is(t, "definite", s.say(t, "fail", "mail", "k", 1, object{"kind": "definite", "error": "503"}), object{"applied": true, "state": "retry", "reason": nil})
	a = s.claim(t, "granted", "mail", "k", object{"lease_seconds": 2.5})
	is(t, "again", a, object{"fence": 2, "attempt": 2, "op_id": b["op_id"]})
	if left := time.Until(stamp(t, a, "lease_until")); left > 2600*time.Millisecond {
		t.Errorf("a lease of 2.5 s ends in %v", left)
	}
	old := s.say(t, "complete", "mail", "k", 1, object{"result": 1})
	fields(t, "fenced", old, "applied state reason")
	is(t, "fenced", old, object{"applied": false, "state": "started", "reason": "fenced"})

	// A result comes back as the bytes that came, whatever an encoder makes of them.
	raw := `{"b": 1.50, "a": [1e400,  9007199254740993, "\u00e9\/"]}`
	done := s.do(t, "POST", ledgerPath+"complete", `{"scope":"mail","key":"k","fence":2,"result":`+raw+`}`)
	fields(t, "complete", done, "applied state reason")
	is(t, "complete", done, object{"applied": true, "state": "done", "reason": nil})
	for range 2 {
		was := s.post(t, ledgerPath+"claim", object{"scope": "mail", "key": "k"})
		is(t, "done", was.ok(t), object{"verdict": "done", "fence": nil, "op_id": a["op_id"], "reason": nil})
		if !strings.Contains(was.raw, `"result":`+raw+`}`) {
			t.Errorf("the result is not its bytes: %s", was.raw)
		}
	}
	is(t, "the same word again", s.say(t, "complete", "mail", "k", 2, nil), object{"applied": true, "state": "done"})
	is(t, "another word", s.say(t, "fail", "mail", "k", 2, object{"kind": "permanent"}), object{"applied": false, "state": "done", "reason": "done"})

	// One key of two scopes is two; parts are never run together.
	if c := s.claim(t, "granted", "mai", "lk", nil); c["op_id"] == a["op_id"] {
		t.Error("two keys have one op_id")
	}
	s.claim(t, "granted", "sms", "k", nil)

	// A call whose answer was lost asks again under its grant id.
	id := "0190163d-8694-739b-aea5-966c26f8ad91"
	first := s.claim(t, "granted", "mail", "lost", object{"grant_id": id, "owner": "one"})
	again := s.claim(t, "granted", "mail", "lost", object{"grant_id": strings.ToUpper(id), "owner": "one"})
	is(t, "the same call again", again, object{"fence": first["fence"], "lease_until": first["lease_until"]})
	s.claim(t, "busy", "mail", "lost", object{"grant_id": id, "owner": "two"})
	s.claim(t, "busy", "mail", "lost", object{"owner": "one"})

	is(t, "too old", s.claim(t, "too_old", "mail", "old", object{"origin_at": time.Now().Add(-91 * 24 * time.Hour)}), object{"reason": "older than the ledger's memory of 90 days"})
	s.claim(t, "failed", "mail", "old", nil)
	for i, kind := range []string{"definite", "ambiguous"} {
		key := "last " + kind
		s.claim(t, "granted", "mail", key, object{"max_attempts": 1})
		state := []string{"failed", "stuck"}[i]
		is(t, key, s.say(t, "fail", "mail", key, 1, object{"kind": kind, "error": "no " + kind}), object{"applied": true, "state": state})
		ended := s.claim(t, state, "mail", key, nil)
		fields(t, key, ended, claimAnswer)
		is(t, key, ended, object{"reason": "no " + kind, "fence": nil})
	}
}

func checkClaimFields(t *testing.T, s *server) {
	long, origin := strings.Repeat("é", 256), time.Now().UTC().Add(-24*time.Hour).Truncate(time.Microsecond)
	s.claim(t, "granted", strings.Repeat("s", 128), long, object{
		"policy": "once", "owner": strings.Repeat("o", 255), "lease_seconds": 43200, "max_attempts": 1000, "receiver_window_seconds": 315360000,
		"origin_at": origin.In(time.FixedZone("", 7200)), "grant_id": nil, "queue": nil, "receipt_handle": nil, "payload": object{"n": 1}, "idempotency_key": "ignored",
	})
	is(t, "as it was asked", s.lookUp(t, strings.Repeat("s", 128), long), object{
		"policy": "once", "owner": strings.Repeat("o", 255), "max_attempts": 1000, "receiver_window_seconds": 315360000, "origin_at": origin.Format("2006-01-02T15:04:05.000000Z"),
	})
	s.claim(t, "granted", "f", "k", object{"receiver_window_seconds": nil})
	is(t, "defaults", s.lookUp(t, "f", "k"), object{"policy": "idempotent", "owner": nil, "max_attempts": 5, "receiver_window_seconds": nil, "work_hash": nil, "message_id": nil})

	bad := func(call string, ok object, field string, values ...any) {
		t.Helper()
		for _, v := range values {
			body := with(object{}, ok)
			body[field] = v
			s.post(t, ledgerPath+call, body).refused(t, 400, "INVALID_ARGUMENT", "/"+field)
		}
	}
	claim := object{"scope": "f", "key": "bad"}
	bad("claim", claim, "scope", "", nil, strings.Repeat("s", 129), "é", 7)
	bad("claim", claim, "key", "", nil, long+"x", "a\x00b", 7)
	bad("claim", claim, "policy", "tx", "", 1)
	bad("claim", claim, "owner", strings.Repeat("o", 256), 1)
	bad("claim", claim, "lease_seconds", 0, 0.999, 43201, -1, "1")
	bad("claim", claim, "max_attempts", 0, 1001, 1.5, "5")
	bad("claim", claim, "receiver_window_seconds", 0, 0.5, -1, 315360001, "x")
	bad("claim", claim, "origin_at", "yesterday", 1)
	bad("claim", claim, "grant_id", "", "1", 7)
	bad("claim", claim, "work_hash", "", strings.Repeat("g", 513), 7)
	bad("claim", claim, "fence", 1)
	begin := with(object{"fence": 1}, claim)
	bad("begin", begin, "fence", 0, -1, 1.5, "1", nil)
	bad("begin", begin, "scope", "", nil)
	bad("begin", begin, "key", "", nil)
	bad("begin", begin, "lease_seconds", 0, 43201)
	bad("complete", begin, "settle", 1, "yes")
	bad("complete", begin, "kind", "definite")
	fail := with(object{"kind": "definite"}, begin)
	bad("fail", fail, "kind", "", nil, "done", "given_back", 1)
	bad("fail", fail, "retry_in_seconds", -1, 604801, "x")
	bad("fail", fail, "result", 1)
	resolve := with(object{"as": "done"}, claim)
	bad("resolve", resolve, "as", "", nil, "stuck", "delivered")
	bad("resolve", resolve, "note", strings.Repeat("n", 1025))
	bad("resolve", resolve, "fence", 0, -1, 0.5)
	s.post(t, ledgerPath+"complete", with(object{"result": strings.Repeat("x", 262143)}, begin)).refused(t, 413, "PAYLOAD_TOO_LARGE", "/result")

	// Nothing of it is there, and a word on no key is told so.
	for _, call := range []struct {
		verb string
		body object
	}{{"begin", begin}, {"complete", begin}, {"fail", fail}, {"resolve", resolve}} {
		s.post(t, ledgerPath+call.verb, call.body).refused(t, 404, "NOT_FOUND")
	}
	s.call(t, "GET", ledgerPath+"claims?scope=f&key=bad", nil).refused(t, 404, "NOT_FOUND")
}

// checkClaimWork is that the same key with other content is a mismatch, by a hash of the caller's or of the payload's canonical form.
func checkClaimWork(t *testing.T, s *server) {
	s.claim(t, "granted", "work", "by payload", object{"payload": json.RawMessage(`{"a": 1.0, "b": "\u00e9"}`)})
	s.claim(t, "busy", "work", "by payload", object{"payload": json.RawMessage(`{"b":"é","a":10e-1}`)})
	s.claim(t, "busy", "work", "by payload", nil) // not compared
	m := s.claim(t, "mismatch", "work", "by payload", object{"payload": object{"a": 2, "b": "é"}})
	fields(t, "mismatch", m, claimAnswer)
	hash := text(s.lookUp(t, "work", "by payload")["work_hash"])
	if said := text(m["reason"]); !strings.Contains(said, hash) || len(regexp.MustCompile(`[0-9a-f]{64}`).FindAllString(said, -1)) != 2 {
		t.Errorf("a mismatch names not both hashes: %s", said)
	}
	s.claim(t, "busy", "work", "by payload", object{"work_hash": hash})
	s.claim(t, "busy", "work", "by payload", object{"work_hash": strings.ToUpper(hash)})
	s.claim(t, "mismatch", "work", "by payload", object{"work_hash": strings.Repeat("0", 64)})
	s.claim(t, "granted", "work", "by revision", object{"work_hash": "revision 7"})
	s.claim(t, "busy", "work", "by revision", object{"work_hash": "revision 7"})
	s.claim(t, "mismatch", "work", "by revision", object{"work_hash": "revision 8"})
	s.claim(t, "busy", "work", "by payload", object{"work_hash": hash, "payload": json.RawMessage(`{"b":"é","a":1}`)})
	s.post(t, ledgerPath+"claim", object{"scope": "work", "key": "by payload", "work_hash": hash, "payload": 1}).refused(t, 400, "INVALID_ARGUMENT", "/work_hash")

	// A payload without a key is the key.
	body := object{"scope": "work", "payload": json.RawMessage(`{"id": 9007199254740993}`)}
	a := s.do(t, "POST", ledgerPath+"claim", body)
	is(t, "by its payload alone", a, object{"verdict": "granted"})
	key := text(a["key"])
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(key) {
		t.Errorf("the key of a payload is %q", key)
	}
	is(t, "the same payload", s.do(t, "POST", ledgerPath+"claim", object{"scope": "work", "payload": json.RawMessage(`{"id":9007199254740993.0}`)}), object{"verdict": "busy", "key": key})
	is(t, "another", s.do(t, "POST", ledgerPath+"claim", object{"scope": "work", "payload": json.RawMessage(`{"id":9007199254740992}`)}), object{"verdict": "granted"})
	is(t, "its word", s.say(t, "complete", "work", key, 1, nil), object{"applied": true})
	is(t, "with the caller's hash", s.do(t, "POST", ledgerPath+"claim", object{"scope": "work", "payload": 5, "work_hash": strings.Repeat("5a", 32)}), object{"verdict": "granted"})
	is(t, "which is compared", s.do(t, "POST", ledgerPath+"claim", object{"scope": "work", "payload": 5, "work_hash": strings.Repeat("5b", 32)}), object{"verdict": "mismatch"})
	s.post(t, ledgerPath+"claim", object{"scope": "work"}).refused(t, 400, "INVALID_ARGUMENT", "/key")
}

func checkWords(t *testing.T, s *server) {
	s.claim(t, "granted", "words", "k", object{"owner": "one", "lease_seconds": 1})
	b := s.say(t, "begin", "words", "k", 1, nil)
	fields(t, "begin", b, "applied state reason lease_until")
	is(t, "begin", b, object{"applied": true, "state": "started", "reason": nil})
	if left := time.Until(stamp(t, b, "lease_until")); left < 50*time.Second || left > 61*time.Second {
		t.Errorf("a begin's lease of 60 s ends in %v", left)
	}
	is(t, "retry in an hour", s.say(t, "fail", "words", "k", 1, object{"kind": "ambiguous", "error": strings.Repeat("é", 3000), "retry_in_seconds": 3600}), object{"applied": true, "state": "retry"})
	if wait, _ := s.claim(t, "busy", "words", "k", nil)["retry_after_seconds"].(float64); wait < 3500 || wait > 3600 {
		t.Errorf("a retry in an hour is busy for %v s", wait)
	}
	is(t, "a begin after that", s.say(t, "begin", "words", "k", 1, nil), object{"applied": false, "state": "retry", "reason": "retry", "lease_until": nil})
	is(t, "a late success", s.say(t, "complete", "words", "k", 1, nil), object{"applied": true, "state": "done"})
	is(t, "an old fence", s.say(t, "begin", "words", "k", 7, nil), object{"applied": false, "state": "done", "reason": "fenced", "lease_until": nil})
	is(t, "an old fence", s.say(t, "fail", "words", "k", 7, object{"kind": "definite", "error": "late"}), object{"applied": false, "state": "done", "reason": "fenced"})

	whole := s.lookUp(t, "words", "k")
	fields(t, "a claim", whole, claimFields+" history result")
	is(t, "a claim", whole, object{
		"scope": "words", "key": "k", "state": "done", "policy": "idempotent", "fence": 1, "attempt": 1, "tries": 1, "max_attempts": 5, "ambiguous": true, "owner": "one",
		"lease_until": nil, "next_attempt_at": nil, "result": nil,
	})
	stamp(t, whole, "finished_at")
	stamp(t, whole, "created_at")
	var told []string
	for _, h := range whole["history"].([]any) {
		fields(t, "a line of history", h.(object), historyField)
		stamp(t, h.(object), "at")
		told = append(told, fmt.Sprint(h.(object)["what"], " ", h.(object)["fence"]))
		if n := len(text(h.(object)["detail"])); n > 4200 {
			t.Errorf("%d bytes of a worker's word are kept", n)
		}
	}
	if got, want := strings.Join(told, ", "), "granted 1, ambiguous 1, done 1, fenced 7, fenced 7"; got != want {
		t.Errorf("the history is %s; want %s", got, want)
	}
}

func checkClaimOnce(t *testing.T, s *server) {
	s.claim(t, "granted", "charge", "k", object{"policy": "once"})
	is(t, "not begun", s.say(t, "complete", "charge", "k", 1, nil), object{"applied": false, "state": "claimed", "reason": "not_begun"})
	is(t, "begin", s.say(t, "begin", "charge", "k", 1, nil), object{"applied": true, "state": "started"})
	is(t, "ambiguous", s.say(t, "fail", "charge", "k", 1, object{"kind": "ambiguous", "error": "timeout"}), object{"applied": true, "state": "stuck"})
	is(t, "stuck", s.claim(t, "stuck", "charge", "k", object{"policy": "idempotent"}), object{"reason": "timeout"})
	is(t, "a late success", s.say(t, "complete", "charge", "k", 1, object{"result": "ch_1"}), object{"applied": true, "state": "done"})
	is(t, "done", s.claim(t, "done", "charge", "k", nil), object{"result": "ch_1"})

	s.claim(t, "granted", "charge", "never begun", object{"policy": "once"})
	is(t, "nothing can have happened", s.say(t, "fail", "charge", "never begun", 1, object{"kind": "ambiguous"}), object{"applied": true, "state": "retry"})
	is(t, "again", s.claim(t, "granted", "charge", "never begun", nil), object{"fence": 2, "ambiguous": false})
}

func checkClaimLists(t *testing.T, s *server) {
	scope := "listed"
	for i := range 5 {
		key := fmt.Sprint(i)
		s.claim(t, "granted", scope, key, object{"max_attempts": 1})
		s.say(t, "fail", scope, key, 1, object{"kind": "ambiguous", "error": "nobody knows " + key})
	}
	var got []string
	path := ledgerPath + "claims?state=stuck&limit=2"
	for cursor := ""; ; {
		d := s.do(t, "GET", path+cursor, nil)
		fields(t, "a list", d, "items next_cursor")
		for _, c := range items(t, d) {
			fields(t, "a listed claim", c, claimFields)
			is(t, "a listed claim", c, object{"state": "stuck"})
			if c["scope"] == scope {
				got = append(got, text(c["key"]))
				is(t, "a listed claim", c, object{"last_error": "nobody knows " + text(c["key"]), "op_id": s.lookUp(t, scope, text(c["key"]))["op_id"]})
			}
		}
		if d["next_cursor"] == nil {
			break
		}
		cursor = "&cursor=" + text(d["next_cursor"])
	}
	if strings.Join(got, "") != "43210" {
		t.Errorf("listed are %v", got)
	}
	for _, q := range []string{"", "?limit=2", "?state=new", "?state=gone", "?state=stuck&scope=x", "?state=stuck&key=x", "?scope=x&state=stuck&key=x", "?states=stuck"} {
		s.call(t, "GET", ledgerPath+"claims"+q, nil).refused(t, 400, "INVALID_ARGUMENT")
	}
	s.call(t, "GET", ledgerPath+"claims?scope=x", nil).refused(t, 400, "INVALID_ARGUMENT", "/key")
	s.call(t, "GET", ledgerPath+"claims?key=x", nil).refused(t, 400, "INVALID_ARGUMENT", "/scope")
	// A key of any text is found by its own.
	odd := "a&b=c ü\n%/?#"
	s.claim(t, "granted", scope, odd, nil)
	is(t, "an odd key", s.lookUp(t, scope, odd), object{"key": odd, "state": "started"})
	if a := s.post(t, ledgerPath+"claim", `{"scope":"listed","key":"U+0000 in a result"}`); a.ok(t)["verdict"] != "granted" {
		t.Error("not granted")
	}
	raw := []byte(`{"scope":"listed","key":"U+0000 in a result","fence":1,"result":"a\u0000b"}`)
	s.do(t, "POST", ledgerPath+"complete", string(raw))
	if a := s.call(t, "GET", ledgerPath+"claims?scope=listed&key="+url.QueryEscape("U+0000 in a result"), nil); !bytes.Contains([]byte(a.raw), []byte(`"result":"a\u0000b"`)) {
		t.Errorf("the result is not as it came: %s", a.raw)
	}
}
