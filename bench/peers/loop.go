package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"
)

// loopTo is the variable that makes this program the bare loop's sender, and says where it sends.
const loopTo = "PEERS_LOOP_TO"

// onBareLoop POSTs the same bodies to the same receiver; apart, as our server is, from a process of its own.
func onBareLoop(apart bool) func(context.Context, settings, peer, kase) ([]figure, error) {
	return func(ctx context.Context, s settings, p peer, _ kase) ([]figure, error) {
		to := receiver(func(int64) {})
		defer to.Close()
		if apart {
			return loopApart(ctx, s, p, to.URL)
		}
		send, end := loop(ctx, s, to.URL)
		defer end()
		if _, err := s.warm(send); err != nil {
			return nil, err
		}
		f, err := p.meter("deliver", nil, func() (done, error) { return s.loop(send) })
		return []figure{f}, err
	}
}

func (s settings) loop(send func(i int64) error) (done, error) {
	return s.closed(s.Callers, 1<<40, func(i int64) (int64, error) { return 1, send(i) })
}

// loop gives what sends.
func loop(ctx context.Context, s settings, url string) (send func(i int64) error, end func()) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: s.Callers}}
	return func(i int64) error {
		r, err := http.NewRequestWithContext(ctx, "POST", url, bytes.NewReader(s.body(i)))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("webhook-id", fmt.Sprint("e-", i))
		a, err := client.Do(r)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, a.Body)
		return errors.Join(err, a.Body.Close())
	}, client.CloseIdleConnections
}

// sent is what a sender says that it did.
type sent struct {
	Jobs int64
	Span time.Duration
}

// loopApart starts this program again as the sender.
func loopApart(ctx context.Context, s settings, p peer, url string) (fs []figure, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	how, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, string(how))
	cmd.Env, cmd.Stderr = append(os.Environ(), loopTo+"="+url), os.Stderr
	said, err := speak(cmd)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, said.end()) }()
	in, lines := said.in, said.lines
	f, err := p.meter("deliver", map[string]int{"server": cmd.Process.Pid}, func() (done, error) {
		fmt.Fprintln(in, "go")
		var did sent
		if !lines.Scan() {
			return done{}, errors.New("the sender ended without an answer")
		}
		err := json.Unmarshal(lines.Bytes(), &did)
		return done{jobs: did.Jobs, span: did.Span}, err
	})
	return []figure{f}, err
}

// sendLoop is the sender: it says when it is warm, begins when it is told to, and says what it did.
func sendLoop(url, how string) error {
	var s settings
	if err := json.Unmarshal([]byte(how), &s); err != nil {
		return err
	}
	send, end := loop(context.Background(), s, url)
	defer end()
	if _, err := s.warm(send); err != nil {
		return err
	}
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	if !in.Scan() {
		return nil
	}
	d, err := s.loop(send)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(sent{d.jobs, d.span}); err != nil {
		return err
	}
	in.Scan() // until its figures are taken
	return nil
}
