// Command onceward is the server and its tools: an at-least-once queue, a ledger that decides what already happened, and
// webhooks that arrive, once.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/onceward/onceward/internal/failpoint"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/verify"
)

type commands struct {
	Serve   serveCmd   `cmd:"" help:"Run the server."`
	Migrate migrateCmd `cmd:"" help:"Show a store's migrations and apply them."`
	Receive receiveCmd `cmd:"" help:"Run a local webhook receiver to try things with."`
	Verify  verifyCmd  `cmd:"" help:"Kill servers where they can die, and count what the receiver saw."`
	Bench   benchCmd   `cmd:"" help:"Put load on servers, and report rates, latencies and processor time."`

	Queue    queueCmd    `cmd:"" group:"clients" help:"Queues and their messages."`
	Endpoint endpointCmd `cmd:"" group:"clients" help:"Endpoints: where events go."`
	Event    eventCmd    `cmd:"" group:"clients" help:"Events: what is sent."`
	Delivery deliveryCmd `cmd:"" group:"clients" help:"Deliveries: one event for one endpoint, with its attempts."`
	Ledger   ledgerCmd   `cmd:"" group:"clients" help:"The ledger: keys of work, who has them, and what came of it."`
	Redrive  redriveCmd  `cmd:"" group:"clients" help:"Redrives: dead letters and dead deliveries on their way back."`
	Project  projectCmd  `cmd:"" group:"clients" help:"Projects: worlds of their own."`
	Key      keyCmd      `cmd:"" group:"clients" help:"Keys: who may do what."`
	Account  accountCmd  `cmd:"" group:"clients" help:"What publishing cost, and what it may."`
	Health   healthCmd   `cmd:"" group:"clients" help:"Ask whether the server runs and can serve."`

	Completion completionCmd `cmd:"" group:"self" help:"Print a script that completes commands and flags in a shell."`
	Version    versionCmd    `cmd:"" group:"self" help:"Print the version."`
}

var groups = kong.ExplicitGroups([]kong.Group{
	{Key: "clients", Title: "Clients of a running server:"},
	{Key: "self", Title: "This program:"},
	{Key: "common", Title: "Flags of every client:"},
	{Key: "watch", Title: "Looking again:"},
})

const about = `An at-least-once queue, a ledger that decides what already happened, and webhooks that arrive, once.

Every flag is also an environment variable.`

// An exitCode is what a shell learns of a command.
type exitCode struct {
	code  int
	means string
}

const (
	exitFailed = 1
	exitUsage  = 2
)

// exitCodes are all there are.
var exitCodes = []exitCode{
	{0, "it did what it was told"},
	{exitFailed, "it failed: refused, out of reach, nothing changed, something found"},
	{exitUsage, "it was used wrongly: nothing was asked of a server or changed"},
}

// Help is shown above the commands' list.
func (commands) Help() string {
	s := "Exit codes:\n"
	for _, e := range exitCodes {
		s += fmt.Sprintf("\n\t%d  %s", e.code, e.means)
	}
	return s + "\n\n" + examples("serve", "queue create jobs", `queue publish jobs '{"n": 1}' --key job-1`, "queue stats --watch")
}

// usageError is a mistake in how a command was called.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func main() {
	forgetEmpty()
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once

	parser, err := newParser()
	if err != nil {
		return complain(err)
	}
	if len(args) > 0 && args[0] == completeWord {
		return complain(complete(os.Stdout, parser.Model.Node, args[1:]))
	}
	if len(args) > 0 && args[0] == verify.WorkerWord {
		return complain(verify.RunWorker(ctx, args[1:]))
	}
	if failpoint.On && len(args) > 0 && args[0] == verify.OwnWord {
		return complain(verify.RunOwn(ctx, args[1:]))
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := parser.Parse(args)
	if err != nil {
		return complain(mistyped(err))
	}
	k.BindTo(ctx, (*context.Context)(nil))
	err = k.Run(newOutput(os.Stdout))
	if err != nil && errors.Is(ctx.Err(), context.Canceled) && errors.Is(err, context.Canceled) {
		err = fmt.Errorf("interrupted: %w", err)
	}
	return complain(err)
}

// mistyped is what is wrong with the arguments, as one line: they may have ends of lines in them, and what steers a terminal.
func mistyped(err error) error { return usage("%s", line(err.Error())) }

func newParser() (*kong.Kong, error) {
	return kong.New(new(commands), kong.Name("onceward"), kong.Description(about), kong.PostBuild(nameVariables), groups,
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, FlagsLast: true}))
}

// examples are what a command's help shows of its use, each without the program's name.
func examples(lines ...string) string {
	s := "Examples:\n"
	for _, l := range lines {
		s += "\n\tonceward " + l
	}
	return s
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
