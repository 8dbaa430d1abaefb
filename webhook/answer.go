package webhook

import (
	"net/http"
	"strconv"
	"time"

	"github.com/onceward/onceward/ledger"
)

// answer is what is known of an attempt when it is over.
type answer struct {
	status int  // 0: none came
	sent   bool // a byte of the request may have left us
	cut    bool // the end of the answer did not come after its status
	stop   bool // it ended because we stopped, or lost the lease
	after  time.Duration
	err    error // without a status: why
}

// terms are what of an endpoint and a delivery bears on what follows.
type terms struct {
	policy   ledger.Policy
	ladder   []time.Duration
	tries    int // since the last redrive or resend, this one included
	retry4xx bool
}

// following is what an answer leads to.
type following struct {
	kind    ledger.Kind
	result  Result
	retryIn time.Duration
	disable string
	why     string
}

// judge is the table of docs/http-api.md: what follows from an answer. roll is by chance, from 0 up to 1.
//
// Whether the tries are used up is the ledger's to say: it counts them, and ends a claim at its last rung.
func judge(a answer, t terms, roll float64) following {
	f := verdict(a, t)
	switch f.kind {
	case ledger.Definite, ledger.Ambiguous:
		f.retryIn = max(rung(t.ladder, t.tries, roll), a.after)
	}
	return f
}

func verdict(a answer, t terms) following {
	s := a.status
	switch {
	case s == 0 && !a.sent && a.stop:
		return following{kind: ledger.GivenBack}
	case s == 0 && !a.sent:
		return following{kind: ledger.Definite, result: NotSent, why: reason(a)}
	case s == 0 || s < 200 || s > 599:
		return following{kind: ledger.Ambiguous, result: Unknown, why: reason(a)}
	case s < 300:
		return following{kind: ledger.Succeeded, result: WasDelivered}
	}
	refused := following{kind: ledger.Definite, result: Refused, why: "the receiver answered " + strconv.Itoa(s) + " " + http.StatusText(s)}
	switch {
	case s == http.StatusGone:
		refused.kind, refused.disable = ledger.Permanent, "the receiver answered 410 Gone"
	case s < 400:
		refused.why += "; a redirect is never followed"
	case s < 500:
		if !t.retry4xx && !mayPass(s) {
			refused.kind = ledger.Permanent
		}
	case a.cut || t.policy == ledger.Once && mayHaveRun(s):
		refused.kind, refused.result = ledger.Ambiguous, Unknown
		if a.cut {
			refused.why += ", and its answer did not come to its end"
		}
	}
	return refused
}

// mayPass reports whether a 4xx speaks of the moment and not of the request.
func mayPass(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return false
}

// mayHaveRun reports whether a 5xx can come from a receiver that did the work, or from a gateway before one.
func mayHaveRun(status int) bool {
	switch status {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// rung is the wait after a try, 10 % more or less, so that what failed together does not come back together.
func rung(ladder []time.Duration, tries int, roll float64) time.Duration {
	if len(ladder) == 0 {
		return DefaultLadder()[0] // no try follows; were there one, never at once
	}
	d := ladder[max(0, min(tries, len(ladder))-1)]
	return time.Duration(float64(d) * (0.9 + 0.2*roll))
}
