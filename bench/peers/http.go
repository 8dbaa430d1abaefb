package main

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/onceward/onceward/internal/child"
)

// bareServer is the variable that makes this program the bare server.
const bareServer = "PEERS_BARE_SERVER"

// bareHTTP is what a call costs before anything is stored: a net/http server that reads such a call and gives such an answer, and forgets it.
type bareHTTP struct {
	cmd    *exec.Cmd
	in     io.Closer // its end is the server's
	caller *child.Caller
}

func openBareHTTP(ctx context.Context) (subject, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env, cmd.Stderr = append(os.Environ(), bareServer+"=1"), os.Stderr
	said, err := speak(cmd)
	if err != nil {
		return nil, err
	}
	if !said.lines.Scan() {
		return nil, errors.Join(errors.New("it does not say where it listens"), said.end())
	}
	return &bareHTTP{cmd, said.in, &child.Caller{URL: "http://" + said.lines.Text(), Key: key}}, nil
}

func (h *bareHTTP) enqueue(ctx context.Context, i int64, body []byte) error {
	return h.caller.Call(ctx, "POST", publishPath, publishBody(i, body), nil)
}

func (h *bareHTTP) enqueueMany(context.Context, int64, [][]byte) error {
	return errors.New("the bare server takes one at a time")
}

func (h *bareHTTP) consume(context.Context, func(int64)) error {
	return errors.New("the bare server keeps nothing")
}

func (h *bareHTTP) roots() map[string]int { return map[string]int{"server": h.cmd.Process.Pid} }

func (h *bareHTTP) close() error {
	h.caller.Close()
	return errors.Join(h.in.Close(), h.cmd.Wait())
}

// serveBare is the server: it goes on until its input ends.
func serveBare() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("ready")
	fmt.Println(l.Addr())
	failed := make(chan error, 1)
	go func() { failed <- http.Serve(l, http.HandlerFunc(answerBare)) }()
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		failed <- err
	}()
	return <-failed
}

func answerBare(w http.ResponseWriter, r *http.Request) {
	var m struct {
		Queue   string         `json:"queue"`
		Payload jsontext.Value `json:"payload"`
		Key     string         `json:"idempotency_key"`
	}
	var buf bytes.Buffer
	_, err := buf.ReadFrom(r.Body)
	if err == nil {
		err = json.Unmarshal(buf.Bytes(), &m, json.RejectUnknownMembers(true))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	buf.Reset()
	const at = "2026-11-30T12:53:00.000000Z"
	fmt.Fprintf(&buf, `{"ok":true,"data":{"message_id":"msg_%s","queue":%q,"payload":%s,"status":"available","delivery_count":0,"published_at":%q,"visible_at":%q},`+
		`"error":null,"metadata":{"request_id":%q,"latency_ms":1.234,"cost_usd":0,"idempotent_replay":false}}`, strings.Repeat("0", 22), m.Queue, m.Payload, at, at, strings.Repeat("0", 36))
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", fmt.Sprint(buf.Len()))
	w.Write(buf.Bytes())
}
