package archive

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
	"github.com/gavel-relay/gavel/relay"
)

// A caller may stop early; the connection is free again for the next.
func TestRegistrationsMayBeLeft(t *testing.T) {
	onEach(t, func(t *testing.T, a *Archive) {
		record(t, a, registration(1, 30_000_000), registration(2, 30_000_000))
		for range 10 {
			for one, err := range a.Registrations(t.Context()) {
				if one == nil || err != nil {
					t.Fatal(one, err)
				}
				break
			}
		}
	})
}

func TestRegistrationsTellTheirError(t *testing.T) {
	a, err := Open(t.Context(), "postgres://127.0.0.1:1/gavel", quiet) // never connected
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := a.Received(t.Context(), relay.TraceQuery{Limit: 1}); !isUnavailable(err) {
		t.Errorf("%v, want %s", err, relay.ArchiveUnavailable.ID)
	}
	if _, err := a.Last(t.Context()); !isUnavailable(err) {
		t.Errorf("%v, want %s", err, relay.ArchiveUnavailable.ID)
	}
	var errs []error
	for one, err := range a.Registrations(t.Context()) {
		if one != nil {
			t.Error("a registration beside an error")
		}
		errs = append(errs, err)
	}
	if len(errs) != 1 || !errors.Is(errs[0], projection.ErrNotReady) || !isUnavailable(errs[0]) {
		t.Errorf("%v, want one error", errs)
	}
}

// BenchmarkRegistrations is a restart with 100,000 validators: reading them in one stream, and how
// many times longer it takes to ask for each.
func BenchmarkRegistrations(b *testing.B) {
	const validators, asked = 100_000, 1000
	for kind, address := range map[string]string{
		"sqlite":   "sqlite:" + filepath.Join(b.TempDir(), "archive.db"),
		"postgres": projectiontest.StartPostgres(b).Database(b),
	} {
		b.Run(kind, func(b *testing.B) {
			a := openAt(b, address)
			for first := 0; first < validators; first += 10_000 {
				record(b, a, registrationsOf(first, 10_000)...)
			}
			var asking time.Duration
			b.ResetTimer()
			for b.Loop() {
				rows := 0
				for _, err := range a.Registrations(b.Context()) {
					if err != nil {
						b.Fatal(err)
					}
					rows++
				}
				if rows != validators {
					b.Fatalf("%d rows", rows)
				}
				b.StopTimer()
				began := time.Now()
				for n := range asked {
					if found, err := a.Registration(b.Context(), validator(n)); err != nil || found == nil {
						b.Fatal(found, err)
					}
				}
				asking += time.Since(began)
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/100k")
			b.ReportMetric(float64(asking)*validators/asked/float64(b.Elapsed()), "times-as-long-one-by-one")
		})
	}
}

func validator(n int) (pubkey phase0.BLSPubKey) {
	binary.BigEndian.PutUint64(pubkey[:], uint64(n)*0x9e3779b97f4a7c15) // scattered, as real ones are
	return pubkey
}

func registrationsOf(first, count int) (facts []relay.Fact) {
	for n := first; n < first+count; n++ {
		facts = append(facts, relay.RegistrationStored{At: noon, Registration: &relay.SignedRegistration{
			Message: &builderv1.ValidatorRegistration{GasLimit: 36_000_000, Timestamp: noon.Truncate(time.Second),
				Pubkey: validator(n)},
		}})
	}
	return facts
}
