// Package wire holds the program to docs/http-api.md: it starts the real binary on each store and speaks to it over HTTP alone.
package wire

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/pgtest"
)

var binary string // the program, built once

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "16") // the subjects mostly wait: more at a time than there are processors
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "onceward-wire")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "onceward")
		if out, err := exec.Command("go", "build", "-o", binary, "github.com/onceward/onceward/cmd/onceward").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// subjects are what is checked, each on a server that all of a store share.
var subjects = []struct {
	name  string
	check func(*testing.T, *server)
}{
	{"envelope", checkEnvelope},
	{"bare", checkBare},
	{"access", checkAccess},
	{"bodies", checkBodies},
	{"headers", checkHeaders},
	{"lists", checkLists},
	{"ids", checkIDs},
	{"queues", checkQueues},
	{"queue fields", checkQueueFields},
	{"publish", checkPublish},
	{"publish fields", checkPublishFields},
	{"publish batch", checkPublishBatch},
	{"publish keys", checkPublishKeys},
	{"same publish", checkSamePublish},
	{"request keys", checkRequestKeys},
	{"consume", checkConsume},
	{"consume waits", checkWait},
	{"a client that is gone", checkGoneClient},
	{"receipts", checkReceipts},
	{"receipts that end", checkReceiptEnds},
	{"receipts by message id", checkMessageIDs},
	{"settle batches", checkSettleBatches},
	{"extend", checkExtend},
	{"counting", checkCounting},
	{"visibility", checkVisibility},
	{"dead letters", checkDeadLetters},
	{"dead-letter queues", checkDLQs},
	{"redrive", checkRedrive},
	{"redrive picks", checkRedrivePicks},
	{"order", checkOrder},
	{"fair groups", checkGroups},
	{"fifo", checkFIFO},
	{"content dedup", checkContentDedup},
	{"push", checkPush},
	{"stats", checkStats},
	{"keys of work", checkClaims},
	{"keys of work: fields", checkClaimFields},
	{"keys of work: the content", checkClaimWork},
	{"keys of work: words", checkWords},
	{"keys of work: once", checkClaimOnce},
	{"keys of work: messages", checkLinks},
	{"keys of work: settle", checkLinkSettle},
	{"keys of work: a worker that died", checkDeadWorker},
	{"keys of work: a person's acts", checkClaimResolve},
	{"keys of work: lists", checkClaimLists},
	{"keys of work: the programs of docs/ledger-http.md", checkLedgerWalk},
	{"endpoints", checkEndpoints},
	{"endpoint fields", checkEndpointFields},
	{"events", checkEvents},
	{"event ids", checkEventIDs},
	{"event receivers", checkEndpointIDs},
	{"deliveries on the wire", checkDelivered},
	{"secrets", checkSecrets},
	{"answers", checkAnswers},
	{"ladder", checkLadder},
	{"retry after", checkRetryAfter},
	{"in flight", checkInFlight},
	{"gone", checkGone},
	{"disabled", checkDisabled},
	{"deleted", checkDeleted},
	{"once", checkOnce},
	{"resend", checkResend},
	{"cancel", checkCancel},
	{"redrive of deliveries", checkDeliveryRedrive},
	{"delivery lists", checkDeliveryLists},
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	checkAll(t, "sqlite:"+filepath.Join(t.TempDir(), "onceward.db"))
}

func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	checkAll(t, pgtest.Database(t))
}

func checkAll(t *testing.T, store string) {
	s := start(t, store)
	t.Run("subjects", func(t *testing.T) {
		for _, c := range subjects {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.check(t, s)
			})
		}
	})
	s.stop(t, 25*time.Second)
}
