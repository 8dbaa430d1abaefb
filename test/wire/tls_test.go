package wire

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pair makes a certificate for 127.0.0.1 with a serial number to know it by, and its key.
func pair(t *testing.T, serial int64) (cert, key []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func certificate(t *testing.T) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	dir := t.TempDir()
	cert, key, roots = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), x509.NewCertPool()
	c, k := pair(t, 1)
	write(t, cert, c)
	write(t, key, k)
	roots.AppendCertsFromPEM(c)
	return cert, key, roots
}

// secure makes a server's url that of its TLS, and gives its address.
func (s *server) secure() (address string) {
	address = strings.TrimPrefix(s.url, "http://")
	s.url = "https://" + address
	return address
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key, roots := certificate(t)
	store := "sqlite:" + filepath.Join(t.TempDir(), "o.db")
	s := start(t, store, "--tls-cert", cert, "--tls-key", key)
	address := s.secure()
	for proto, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: h2}}
		defer client.CloseIdleConnections()
		res, err := client.Get(s.url + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode != 200 || res.Proto != proto {
			t.Errorf("/healthz over TLS: %s by %s, want %s", res.Status, res.Proto, proto)
		}
		s.client = client
		s.queue(t, "over-tls", nil)
		s.publish(t, "over-tls", strings.Repeat("x", 250_000), nil)
		s.settle(t, "ack", "over-tls", s.one(t, "over-tls", nil), nil)
		if waited := time.Now(); len(s.consume(t, "over-tls", object{"wait_seconds": 1})) != 0 || time.Since(waited) < 900*time.Millisecond {
			t.Errorf("%s: a poll over TLS ended after %v", proto, time.Since(waited))
		}
		s.post(t, "/v1/queue/publish", `{"queue":"over-tls","payload":"`+strings.Repeat("x", 16<<20)+`"}`).refused(t, 413, "PAYLOAD_TOO_LARGE")
		s.call(t, "GET", "/v1/queue/list", nil, "X-Long", strings.Repeat("x", 40<<10)).refused(t, 431, "HEADERS_TOO_LARGE")
	}
	if res, err := http.Get("http://" + address + "/healthz"); err == nil {
		if res.Body.Close(); res.StatusCode == 200 {
			t.Error("with a certificate it speaks plain HTTP too")
		}
	}
	if old, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS11}); err == nil {
		old.Close()
		t.Error("it speaks TLS 1.1")
	}
	s.stop(t, 25*time.Second)
	env := []string{"ONCEWARD_API_KEY=" + apiKey}
	if code, out := ends(t, env, "serve", "--store", store, "--tls-cert", cert); code != 2 || !strings.Contains(out, "--tls-key") {
		t.Errorf("a certificate without its key: exit %d\n%s", code, out)
	}
	for _, bad := range []string{cert, filepath.Join(t.TempDir(), "none.pem")} {
		if code, out := ends(t, env, "serve", "--store", store, "--tls-cert", cert, "--tls-key", bad); code != 1 || !strings.Contains(out, "tls-key") || !strings.Contains(out, bad) {
			t.Errorf("a key that is none: exit %d\n%s", code, out)
		}
	}
}

// What a connection may have under way is told to it when it begins.
func TestHTTP2Settings(t *testing.T) {
	t.Parallel()
	cert, key, roots := certificate(t)
	s := start(t, "sqlite:"+filepath.Join(t.TempDir(), "o.db"), "--tls-cert", cert, "--tls-key", key)
	c, err := tls.Dial("tcp", s.secure(), &tls.Config{RootCAs: roots, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00") // the preface, and no settings of ours
	const settings, maxStreams, maxHeaderList = 4, 3, 6
	var head [9]byte
	if _, err := io.ReadFull(c, head[:]); err != nil || head[3] != settings {
		t.Fatalf("the first frame is %v, %v: no settings", head, err)
	}
	frame := make([]byte, int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(c, frame); err != nil {
		t.Fatal(err)
	}
	got := map[uint16]uint32{}
	for ; len(frame) >= 6; frame = frame[6:] {
		got[uint16(frame[0])<<8|uint16(frame[1])] = uint32(frame[2])<<24 | uint32(frame[3])<<16 | uint32(frame[4])<<8 | uint32(frame[5])
	}
	if got[maxStreams] != 100 || got[maxHeaderList] == 0 || got[maxHeaderList] > 128<<10 {
		t.Errorf("a connection may have %d requests under way and headers of %d bytes", got[maxStreams], got[maxHeaderList])
	}
}

// files are a server's certificate and key, as it was told of them.
type files struct{ dir, cert, key string }

// changed is what can become of a certificate's files, and whether the server has the new pair in the end.
var changed = []struct {
	name   string
	change func(t *testing.T, s *server, f files, cert, key []byte)
}{
	{"renamed", func(t *testing.T, _ *server, f files, cert, key []byte) {
		for to, b := range map[string][]byte{f.cert: cert, f.key: key} {
			write(t, to+".new", b)
			if err := os.Rename(to+".new", to); err != nil {
				t.Fatal(err)
			}
		}
	}},
	{"written over", func(t *testing.T, _ *server, f files, cert, key []byte) {
		write(t, f.key, key)
		write(t, f.cert, cert)
	}},
	// As Kubernetes does it: one link to a folder leads to another folder.
	{"a link swapped", func(t *testing.T, _ *server, f files, cert, key []byte) {
		next := filepath.Join(f.dir, "..2")
		if err := os.Mkdir(next, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(next, "tls.crt"), cert)
		write(t, filepath.Join(next, "tls.key"), key)
		if err := os.Symlink("..2", filepath.Join(f.dir, "..tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(f.dir, "..tmp"), filepath.Join(f.dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}},
	{"the key later", func(t *testing.T, s *server, f files, cert, key []byte) {
		write(t, f.cert, cert)
		s.keeps(t, f)
		write(t, f.key, key)
	}},
	{"half of it first", func(t *testing.T, s *server, f files, cert, key []byte) {
		write(t, f.cert, cert[:len(cert)/2])
		write(t, f.key, key)
		s.keeps(t, f)
		write(t, f.cert, cert)
	}},
	{"gone first", func(t *testing.T, s *server, f files, cert, key []byte) {
		if err := os.Remove(f.key); err != nil {
			t.Fatal(err)
		}
		s.keeps(t, f)
		write(t, f.cert, cert)
		write(t, f.key, key)
	}},
}

// keeps waits for the sentence that says that the files are no pair, and sees that the certificate from before goes on.
func (s *server) keeps(t *testing.T, f files) {
	t.Helper()
	eventually(t, "the log says that the files are no pair", 30*time.Second, func() bool {
		l := s.logged()
		return strings.Contains(l, "level=WARN") && strings.Contains(l, "no pair") && strings.Contains(l, f.cert) && strings.Contains(l, "expires=")
	})
	if n := serial(t, s); n != 1 {
		t.Errorf("with files that are no pair it shows certificate %d", n)
	}
}

// serial gives the number of the certificate that a new connection is shown.
func serial(t *testing.T, s *server) int64 {
	t.Helper()
	c, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func TestCertificateChanges(t *testing.T) {
	t.Parallel()
	for _, c := range changed {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			f := files{dir, filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")}
			cert, key := pair(t, 1)
			first := filepath.Join(dir, "..1")
			if err := os.Mkdir(first, 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(first, "tls.crt"), cert)
			write(t, filepath.Join(first, "tls.key"), key)
			for link, to := range map[string]string{"..data": "..1", "tls.crt": "..data/tls.crt", "tls.key": "..data/tls.key"} {
				if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
					t.Fatal(err)
				}
			}
			s := start(t, "sqlite:"+filepath.Join(t.TempDir(), "o.db"), "--tls-cert", f.cert, "--tls-key", f.key)
			s.secure()
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(cert)
			s.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, MaxConnsPerHost: 1}}
			defer s.client.CloseIdleConnections()
			s.queue(t, "kept", nil)
			other := *s
			other.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
			defer other.client.CloseIdleConnections()
			polled := make(chan []object, 1)
			go func() { polled <- other.consume(t, "kept", object{"wait_seconds": 20}) }()

			newCert, newKey := pair(t, 2)
			c.change(t, s, f, newCert, newKey)
			eventually(t, "new connections get the new certificate", 30*time.Second, func() bool { return serial(t, s) == 2 })
			if !strings.Contains(s.logged(), "new connections get the new one") {
				t.Error("the log says nothing of a new certificate")
			}
			// What was open is open: the same connection, and the poll that began before.
			reused := false
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
			req, err := http.NewRequestWithContext(ctx, "POST", s.url+"/v1/queue/publish", bytes.NewReader([]byte(`{"queue":"kept","payload":1}`)))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = http.Header{"Authorization": {"Bearer " + apiKey}, "Content-Type": {"application/json"}}
			res, err := s.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if res.Body.Close(); res.StatusCode != 200 || !reused {
				t.Errorf("over the connection from before: %s, the same connection: %v", res.Status, reused)
			}
			if m := <-polled; len(m) != 1 {
				t.Errorf("the poll from before was given %d messages", len(m))
			}
			s.stop(t, 25*time.Second)
		})
	}
}
