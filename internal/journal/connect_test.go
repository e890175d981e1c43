package journal

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// authority signs certificates for a test.
type authority struct {
	file string // its own certificate
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{}
	a.file, _, a.cert, a.key = a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// pair signs a certificate for 127.0.0.1, and returns the files of it and its key.
func (a *authority) pair(t *testing.T) (cert, key string) {
	t.Helper()
	cert, key, _, _ = a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "gavel"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	return cert, key
}

func (a *authority) sign(t *testing.T, want *x509.Certificate) (certFile, keyFile string, cert *x509.Certificate,
	key *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	want.SerialNumber, want.NotBefore = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour)
	want.NotAfter = time.Now().Add(time.Hour)
	parent, signer := want, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	raw, err := x509.CreateCertificate(rand.Reader, want, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	if cert, err = x509.ParseCertificate(raw); err != nil {
		t.Fatal(err)
	}
	rawKey, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, raw []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", raw), write("key.pem", "EC PRIVATE KEY", rawKey), cert, key
}

// startWith is startCluster with other options.
func startWith(t *testing.T, change func(*server.Options)) *server.Server {
	t.Helper()
	options := &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
		MaxPayload: maxValue, MaxPending: 4 * maxValue, JetStreamMaxStore: engineQuota,
	}
	change(options)
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(startTime) {
		t.Fatal("the cluster does not start")
	}
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s
}

// A cluster with TLS is known by its certificate, and knows a process by its own. What is wrong is
// refused at once, also with time to wait: waiting would not mend it. Only a server that closes the
// connection, because it does not accept the process, looks like one that stops, and is waited for.
func TestClusterWithTLS(t *testing.T) {
	ours, others := newAuthority(t, "ours"), newAuthority(t, "others")
	serverCert, serverKey := ours.pair(t)
	cluster := startWith(t, func(o *server.Options) {
		pair, err := tls.LoadX509KeyPair(serverCert, serverKey)
		if err != nil {
			t.Fatal(err)
		}
		clients := x509.NewCertPool()
		clients.AddCert(ours.cert)
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients,
			ClientAuth: tls.RequireAndVerifyClientCert}
	})
	address := strings.TrimPrefix(cluster.ClientURL(), "tls://")
	cert, key := ours.pair(t)
	strange, strangeKey := others.pair(t)
	open(t, Config{URL: "tls://" + address, Access: Access{CA: ours.file, Certificate: cert, Key: key}})
	open(t, Config{URL: "nats://" + address, Access: Access{CA: ours.file, Certificate: cert, Key: key}})
	for name, access := range map[string]Access{
		"authority of others":   {CA: others.file, Certificate: cert, Key: key},
		"no authority":          {Certificate: cert, Key: key},
		"no certificate":        {CA: ours.file},
		"certificate of others": {CA: ours.file, Certificate: strange, Key: strangeKey},
		"no file":               {CA: filepath.Join(t.TempDir(), "none.pem"), Certificate: cert, Key: key},
		"certificate alone":     {CA: ours.file, Certificate: cert},
	} {
		t.Run(name, func(t *testing.T) {
			waited, patience := false, time.Hour
			if access.CA == ours.file && access.Certificate != cert {
				patience = 0
			}
			j, err := Open(t.Context(), withTestQuota(Config{URL: "tls://" + address, Access: access,
				StartTimeout: patience, Waiting: func(string) { waited = true }}))
			if err == nil {
				shut(t, j)
			}
			if err == nil || waited {
				t.Errorf("%v, waited %v: want a refusal at once", err, waited)
			}
		})
	}
}

// With a CA the process does not talk to a server without TLS, which could be anybody's.
func TestAuthorityMakesTLSNeeded(t *testing.T) {
	cluster := startCluster(t, maxValue)
	_, err := Open(t.Context(), withTestQuota(Config{URL: cluster.ClientURL(), StartTimeout: time.Hour,
		Access: Access{CA: newAuthority(t, "ours").file}}))
	if !errors.Is(err, nats.ErrSecureConnWanted) {
		t.Errorf("%v, want a refusal of a connection without TLS", err)
	}
}

// A cluster that knows its users by credentials takes the right file, and no other.
func TestClusterWithCredentials(t *testing.T) {
	pair := func(make func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		key, err := make()
		if err != nil {
			t.Fatal(err)
		}
		public, err := key.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		return key, public
	}
	operator, operatorID := pair(nkeys.CreateOperator)
	account, accountID := pair(nkeys.CreateAccount)
	_, systemID := pair(nkeys.CreateAccount)
	systemJWT, err := jwt.NewAccountClaims(systemID).Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	claims := jwt.NewAccountClaims(accountID)
	claims.Limits.DiskStorage, claims.Limits.MemoryStorage = -1, -1
	accountJWT, err := claims.Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	accounts := &server.MemAccResolver{}
	if err := errors.Join(accounts.Store(accountID, accountJWT), accounts.Store(systemID, systemJWT)); err != nil {
		t.Fatal(err)
	}
	cluster := startWith(t, func(o *server.Options) {
		o.TrustedKeys, o.AccountResolver, o.SystemAccount = []string{operatorID}, accounts, systemID
	})
	credentials := func(signer nkeys.KeyPair) string {
		user, userID := pair(nkeys.CreateUser)
		token, err := jwt.NewUserClaims(userID).Encode(signer)
		if err != nil {
			t.Fatal(err)
		}
		seed, err := user.Seed()
		if err != nil {
			t.Fatal(err)
		}
		file, err := jwt.FormatUserConfig(token, seed)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "user.creds")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	open(t, Config{URL: cluster.ClientURL(), Access: Access{Credentials: credentials(account)}})
	stranger, _ := pair(nkeys.CreateAccount)
	for name, file := range map[string]string{"of a stranger": credentials(stranger), "none": "",
		"no file": filepath.Join(t.TempDir(), "none.creds")} {
		j, err := Open(t.Context(), withTestQuota(Config{URL: cluster.ClientURL(), StartTimeout: time.Hour,
			Access: Access{Credentials: file}}))
		if err == nil {
			shut(t, j)
			t.Errorf("credentials %s are taken", name)
		}
	}
}

// Of three servers one is up: it accepts connections, but there is no leader, so no stream can be
// made. The start says so and waits for the others.
//
//gavel:fault journal-away
func TestClusterWithoutALeaderAtStart(t *testing.T) {
	list := threeOptions(t)
	first := startOne(t, list[0])
	if !first.ReadyForConnections(startTime) {
		t.Fatal("the server does not start")
	}
	waits := make(chan string, 1)
	opened := make(chan error, 1)
	go func() {
		j, err := Open(t.Context(), withTestQuota(Config{URL: first.ClientURL(), StartTimeout: time.Minute,
			Waiting: func(what string) {
				select {
				case waits <- what:
				default:
				}
			}}))
		if err == nil {
			err = j.Close(context.WithoutCancel(t.Context()))
		}
		opened <- err
	}()
	if what := <-waits; !strings.Contains(what, "leader") {
		t.Errorf("it waits for %s", what)
	}
	for _, options := range list[1:] {
		startOne(t, options)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// A reader that starts before the service that makes the journal waits for it.
func TestReaderWaitsForTheJournal(t *testing.T) {
	cluster := startCluster(t, maxValue)
	waits := make(chan string, 1)
	opened := make(chan error, 1)
	go func() {
		j, err := Open(t.Context(), Config{URL: cluster.ClientURL(), ReadOnly: true, StartTimeout: time.Minute,
			Waiting: func(what string) {
				select {
				case waits <- what:
				default:
				}
			}})
		if err == nil {
			err = j.Close(context.WithoutCancel(t.Context()))
		}
		opened <- err
	}()
	<-waits
	open(t, Config{URL: cluster.ClientURL()})
	if err := <-opened; err != nil {
		t.Error(err)
	}
}
