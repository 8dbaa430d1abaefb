//go:build !unix

package verify

import (
	"context"
	"errors"
	"net"
	"os"
)

var errUnix = errors.New("verify: this case needs a Unix system")

type shy struct{ address string }

func newShy() (*shy, error) { return nil, errUnix }

func (s *shy) open() (net.Listener, error) { return nil, errUnix }

func (s *shy) close() {}

func freeze(*os.Process) error { return errUnix }

func thaw(*os.Process) error { return errUnix }

// OwnCluster needs a Unix system.
func OwnCluster(context.Context) (url string, stop func(), err error) { return "", nil, errUnix }
