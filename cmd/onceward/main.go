// Command onceward is the server and its tools: an at-least-once queue, a ledger that decides what already happened, and
// webhooks that arrive, once.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/onceward/onceward/internal/fault"
)

// Exit codes of every command.
const (
	exitFailed = 1
	exitUsage  = 2
)

type commands struct {
	Serve    serveCmd    `cmd:"" help:"Run the server."`
	Migrate  migrateCmd  `cmd:"" help:"Show a store's migrations and apply them."`
	Receive  receiveCmd  `cmd:"" help:"Run a local webhook receiver to try things with."`
	Verify   verifyCmd   `cmd:"" help:"Kill servers where they can die, and count what the receiver saw."`
	Endpoint endpointCmd `cmd:"" help:"Endpoints: where events go."`
	Event    eventCmd    `cmd:"" help:"Events: what is sent."`
	Delivery deliveryCmd `cmd:"" help:"Deliveries: one event for one endpoint, with its attempts."`
	Queue    queueCmd    `cmd:"" help:"Queues and their messages."`
	Project  projectCmd  `cmd:"" help:"Projects: worlds of their own."`
	Key      keyCmd      `cmd:"" help:"Keys: who may do what."`
	Version  versionCmd  `cmd:"" help:"Print the version."`
}

const about = `An at-least-once queue, a ledger that decides what already happened, and webhooks that arrive, once.

The commands endpoint, event, delivery, queue, project and key are clients of a running server (ONCEWARD_URL, ONCEWARD_API_KEY).
Exit codes: 0, 1 failed, 2 used wrongly.`

// usageError is a mistake in how a command was called.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// output is where a command writes for its caller. Logs go to standard error.
type output struct{ io.Writer }

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once

	var c commands
	parser, err := kong.New(&c, kong.Name("onceward"), kong.Description(about), kong.PostBuild(nameVariables),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(output{os.Stdout}))
	if err != nil {
		return complain(err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := parser.Parse(args)
	if err != nil {
		return complain(usageError{err})
	}
	return complain(k.Run())
}

// complain prints an error as a sentence and gives the exit code.
func complain(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "onceward: %v\n", err)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Hint != "" {
		fmt.Fprintf(os.Stderr, "  %s\n", f.Hint)
	}
	if _, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintln(os.Stderr, "  onceward --help tells how; so does --help after a command.")
		return exitUsage
	}
	return exitFailed
}
