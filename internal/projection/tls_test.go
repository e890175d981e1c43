package projection

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// tlsServer answers as a PostgreSQL server with TLS does up to the first message within TLS
// (PostgreSQL's protocol, 54.2.10 "SSL Session Encryption"), and then closes the connection.
// It returns its address, its certificate's file, and what it was sent within TLS.
func tlsServer(t *testing.T) (address, ca string, sent chan string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	want := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	raw, err := x509.CreateCertificate(rand.Reader, want, want, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sent = make(chan string, 64)
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if _, err := io.ReadFull(conn, make([]byte, 8)); err != nil { // SSLRequest
					return
				}
				if _, err := conn.Write([]byte("S")); err != nil {
					return
				}
				message := make([]byte, 512)
				if n, err := tls.Server(conn, config).Read(message); err == nil {
					sent <- string(message[:n])
				}
			}()
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String(), ca, sent
}

// With sslmode=verify-full a database is known by its certificate: the user's name and the rest are
// sent to a server whose certificate the given authority has signed for that host, and to no other.
func TestPostgresIsKnownByItsCertificate(t *testing.T) {
	address, ca, sent := tlsServer(t)
	_, others, _ := tlsServer(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		host, ca string
		known    bool
	}{
		"right": {"127.0.0.1", ca, true}, "authority of others": {"127.0.0.1", others, false},
		"another host": {"localhost", ca, false},
	} {
		db, err := OpenDatabase("postgres://gavel:hunter2@"+c.host+":"+port+"/house?sslmode=verify-full&sslrootcert="+c.ca,
			fstest.MapFS{})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Migrate(t.Context()); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want an error without the password", name, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		var got string
		select {
		case got = <-sent:
		default:
		}
		for len(sent) > 0 {
			<-sent
		}
		if known := strings.Contains(got, "user\x00gavel\x00") && strings.Contains(got, "house"); known != c.known {
			t.Errorf("%s: the server was sent %q", name, got)
		}
	}
	_, err = OpenDatabase("postgres://h/house?sslmode=verify-full&sslrootcert=/nowhere.pem", fstest.MapFS{})
	if err == nil || !strings.Contains(err.Error(), "certificates") {
		t.Errorf("%v, want a word about the certificates", err)
	}
}
