package eth

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

func testSpec() *Spec {
	return &Spec{
		GenesisTime: time.Unix(1606824023, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32,
		Forks: []ForkPoint{
			{Fork: Deneb, Epoch: 0, Version: phase0.Version{4}},
			{Fork: Electra, Epoch: 2, Version: phase0.Version{5}},
			{Fork: Fulu, Epoch: 3, Version: phase0.Version{6}},
			{Fork: Gloas, Epoch: 5, Version: phase0.Version{7}},
		},
		Blobs: []BlobLimit{{Epoch: 4, MaxBlobs: 15}},
	}
}

// The four public networks' builder domains, as anybody can compute them from their genesis fork
// versions.
func TestBuilderDomainOfPublicNetworks(t *testing.T) {
	for version, want := range map[phase0.Version]string{
		{}:                       "00000001f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a9",
		{0x90, 0x00, 0x00, 0x69}: "00000001d3010778cd08ee514b08fe67b6c503b510987a4ce43f42306d97c67c",
		{0x01, 0x01, 0x70, 0x00}: "000000015b83a23759c560b2d0c64576e1dcfc34ea94c4988f3e0d9f77f05387",
		{0x10, 0x00, 0x09, 0x10}: "00000001719103511efa4f1362ff2a50996cccf329cc84cb410c5e5c7d351d03",
	} {
		domain := (&Spec{GenesisForkVersion: version}).BuilderDomain()
		if got := hex.EncodeToString(domain[:]); got != want {
			t.Errorf("genesis fork version %x: domain %s, want %s", version, got, want)
		}
	}
}

func TestExpectedGasLimit(t *testing.T) {
	for _, c := range []struct{ parent, target, want uint64 }{
		{30_000_000, 60_000_000, 30_029_295},
		{60_000_000, 30_000_000, 59_941_408},
		{45_000_000, 60_000_000, 45_043_944},
		{30_000_000, 30_000_000, 30_000_000},
		{30_000_000, 30_000_001, 30_000_001},
		{5000, 1, 4997},
	} {
		if got := ExpectedGasLimit(c.parent, c.target); got != c.want {
			t.Errorf("parent %d target %d: %d, want %d", c.parent, c.target, got, c.want)
		}
	}
}

func TestSlotsEpochsAndForks(t *testing.T) {
	s := testSpec()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	for slot, want := range map[phase0.Slot]struct {
		fork  Fork
		blobs uint64
	}{0: {Deneb, 6}, 63: {Deneb, 6}, 64: {Electra, 9}, 95: {Electra, 9}, 96: {Fulu, 9}, 128: {Fulu, 15},
		159: {Fulu, 15}, 160: {Gloas, 15}} {
		if got := s.ForkAt(slot); got != want.fork {
			t.Errorf("slot %d: fork %s, want %s", slot, got, want.fork)
		}
		if got := s.MaxBlobs(slot); got != want.blobs {
			t.Errorf("slot %d: %d blobs, want %d", slot, got, want.blobs)
		}
	}
	if s.SlotAt(s.SlotStart(7).Add(-time.Nanosecond)) != 6 || s.SlotAt(s.SlotStart(7)) != 7 ||
		s.SlotAt(time.Unix(0, 0)) != 0 {
		t.Error("a slot begins exactly at its start, and time before genesis is slot 0")
	}
	if !s.SlotStart(1 << 63).After(s.SlotStart(1 << 20)) {
		t.Error("a slot that no time can hold must lie ahead, not wrap around")
	}
	s.Forks[1].Epoch = 9
	if s.Validate() == nil {
		t.Error("forks out of order pass")
	}
}

func TestForkNames(t *testing.T) {
	for _, f := range Forks() {
		back, err := ParseFork(f.String())
		if err != nil || back != f || ForkOf(f.DataVersion()) != f {
			t.Errorf("%s does not come back: %v, %v", f, back, err)
		}
	}
	for _, unknown := range []string{"", "phase0", "heze", "gloas "} {
		if f, err := ParseFork(unknown); err == nil {
			t.Errorf("%q is %s", unknown, f)
		}
	}
	if f, err := ParseFork("Gloas"); err != nil || f != Gloas || f.HasBlindedBlocks() || ForkOf(f.DataVersion()) != 0 {
		t.Errorf("gloas is %s, %v", f, err)
	}
}
