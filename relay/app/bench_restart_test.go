package app

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"golang.org/x/sync/errgroup"

	devbeacon "github.com/gavel-relay/gavel/devnet/beacon"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
)

const (
	benchRegistrations = 100_000
	emulatedValidators = 32
)

// BenchmarkRestart is the time from the start of a relay until it is ready, with 100,000
// registrations of earlier lives in its archive and journal, and as many validators in the beacon
// node's table.
func BenchmarkRestart(b *testing.B) {
	cfg := lived(b)
	var took time.Duration
	rounds := 0
	for b.Loop() {
		start := time.Now()
		a, err := New(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		if !a.Ready() {
			b.Fatal("not ready")
		}
		took += time.Since(start)
		rounds++
		if got := a.registry.Registrations(); got < benchRegistrations {
			b.Fatalf("%d registrations", got)
		}
		if err := a.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(took.Seconds()*1000/float64(rounds), "ready-ms")
}

// lived is the configuration of a relay with a data folder in which an earlier life has left its
// registrations.
func lived(b *testing.B) Config {
	b.Helper()
	cfg := Config{
		BeaconURLs: []string{emulated(b, manyIdentities)}, DataDir: b.TempDir(), Key: bls.Derive("relay", 0),
		Validator: nobodyExecutes{}, Builders: benchRecords(),
		Limits: Limits{PerSecond: -1, BuilderPerSecond: -1}, PayloadCutOff: -1, HeaderCutOff: -1,
		Clock: clock.NewStepped(benchGenesis.Add(6 * time.Second)),
	}
	a, err := New(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.archive.Follow(ctx, a.journal) })
	for i := range benchRegistrations {
		fact := relay.RegistrationStored{At: benchGenesis, Registration: madeRegistration(madeKey(i))}
		data, err := json.Marshal(fact)
		if err == nil {
			err = a.journal.AppendAsync(subjectPrefix+fact.Subject(), data)
		}
		if err != nil {
			b.Fatal(err)
		}
		if i%10_000 == 0 {
			if err := a.journal.Flush(ctx); err != nil {
				b.Fatal(err)
			}
		}
	}
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		last, err := a.archive.Last(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if last >= benchRegistrations {
			break
		}
		<-ticker.C
	}
	stop()
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	if err := a.Close(); err != nil {
		b.Fatal(err)
	}
	return cfg
}

// madeKey is a key that nobody can sign for; what is restored was verified before.
func madeKey(i int) (key phase0.BLSPubKey) {
	binary.BigEndian.PutUint64(key[:], uint64(i+1)*0x9e3779b97f4a7c15)
	return key
}

func madeRegistration(key phase0.BLSPubKey) *relay.SignedRegistration {
	return &relay.SignedRegistration{
		Message: &builderv1.ValidatorRegistration{
			FeeRecipient: bellatrix.ExecutionAddress(benchRecipient), GasLimit: 60_000_000, Timestamp: benchGenesis, Pubkey: key,
		},
		Signature: phase0.BLSSignature{1},
	}
}

// emulated is the URL of an emulated beacon node that knows many more validators than it has keys
// for: these follow its own.
func emulated(b *testing.B, identities []byte) string {
	b.Helper()
	spec := benchSpec()
	spec.GenesisValidatorsRoot = devbeacon.GenesisValidatorsRoot(emulatedValidators)
	spec.GenesisForkVersion = phase0.Version{1}
	node, err := chain.Open(chain.Config{Spec: spec, ChainID: 77})
	if err != nil {
		b.Fatal(err)
	}
	emulator, err := devbeacon.New(devbeacon.Config{
		Spec: spec, Clock: clock.NewStepped(benchGenesis.Add(6 * time.Second)), Validators: emulatedValidators, Seed: 3,
		Execution:   node,
		GenesisHash: phase0.Hash32(node.Genesis().Hash()), ChainID: 77,
	})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/validator_identities") {
			emulator.Handler().ServeHTTP(w, r)
			return
		}
		few := httptest.NewRecorder()
		emulator.Handler().ServeHTTP(few, r)
		for name, values := range few.Header() {
			if name != "Content-Length" {
				w.Header()[name] = values
			}
		}
		_, _ = w.Write(slices.Concat(few.Body.Bytes(), identities))
	}))
	b.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		if err := node.Close(); err != nil {
			b.Error(err)
		}
	})
	return server.URL
}

// manyIdentities are those of the made keys, in SSZ: index, key, activation epoch.
var manyIdentities = func() (raw []byte) {
	for i := range benchRegistrations {
		raw = appendIdentity(raw, emulatedValidators+i, madeKey(i))
	}
	return raw
}()

func appendIdentity(raw []byte, index int, key phase0.BLSPubKey) []byte {
	raw = binary.LittleEndian.AppendUint64(raw, uint64(index))
	raw = append(raw, key[:]...)
	return binary.LittleEndian.AppendUint64(raw, 0)
}

var benchGenesis = time.Unix(1_700_000_000, 0)

func benchSpec() *eth.Spec {
	return &eth.Spec{
		GenesisTime: benchGenesis, SlotDuration: 12 * time.Second, SlotsPerEpoch: 32,
		Forks: []eth.ForkPoint{{Fork: eth.Fulu, Version: phase0.Version{6}}},
	}
}
