package wire

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certificate makes one for 127.0.0.1 and gives its files.
func certificate(t *testing.T) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key, roots = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), x509.NewCertPool()
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	roots.AppendCertsFromPEM(public)
	for path, b := range map[string][]byte{cert: public, key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key, roots
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key, roots := certificate(t)
	store := "sqlite:" + filepath.Join(t.TempDir(), "o.db")
	s := start(t, store, "--tls-cert", cert, "--tls-key", key)
	address := strings.TrimPrefix(s.url, "http://")
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	res, err := client.Get("https://" + address + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	if res.Body.Close(); res.StatusCode != 200 {
		t.Errorf("/healthz over TLS: %s", res.Status)
	}
	if res, err := http.Get("http://" + address + "/healthz"); err == nil {
		if res.Body.Close(); res.StatusCode == 200 {
			t.Error("with a certificate it speaks plain HTTP too")
		}
	}
	s.stop(t, 25*time.Second)
	env := []string{"ONCEWARD_API_KEY=" + apiKey}
	if code, out := ends(t, env, "serve", "--store", store, "--tls-cert", cert); code != 2 || !strings.Contains(out, "--tls-key") {
		t.Errorf("a certificate without its key: exit %d\n%s", code, out)
	}
	if code, out := ends(t, env, "serve", "--store", store, "--tls-cert", cert, "--tls-key", cert); code != 1 || !strings.Contains(out, "tls-key") {
		t.Errorf("a key that is none: exit %d\n%s", code, out)
	}
}
