package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// spoken is a process that is told what to do by lines, and answers by lines.
type spoken struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

// speak starts it, and waits for its first line, which is that it is ready.
func speak(cmd *exec.Cmd) (*spoken, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &spoken{cmd, in, bufio.NewScanner(out)}
	if !s.lines.Scan() || s.lines.Text() != "ready" {
		return nil, errors.Join(fmt.Errorf("it is not ready: %q", s.lines.Text()), s.end())
	}
	return s, nil
}

// end lets it end.
func (s *spoken) end() error {
	s.in.Close()
	return s.cmd.Wait()
}
