package eth

import (
	"fmt"
	"strings"

	"github.com/attestantio/go-eth2-client/spec"
	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// Fork is a consensus fork that the builder network knows; the zero value is none. Forks are
// ordered: later is greater.
type Fork uint8

// The forks, oldest first. Bellatrix is the first one with an execution payload, hence with block
// building.
const (
	Bellatrix Fork = iota + 1
	Capella
	Deneb
	Electra
	Fulu
)

// Forks lists all known forks, oldest first.
var Forks = []Fork{Bellatrix, Capella, Deneb, Electra, Fulu}

var forkNames = map[Fork]string{
	Bellatrix: "bellatrix", Capella: "capella", Deneb: "deneb", Electra: "electra", Fulu: "fulu",
}

// String returns the lower-case name that Eth-Consensus-Version carries (builder-specs,
// "Versioning").
func (f Fork) String() string {
	if name, ok := forkNames[f]; ok {
		return name
	}
	return fmt.Sprintf("fork(%d)", uint8(f))
}

// ParseFork reads a fork name in any letter case.
func ParseFork(name string) (Fork, error) {
	for _, f := range Forks {
		if strings.EqualFold(name, forkNames[f]) {
			return f, nil
		}
	}
	return 0, fmt.Errorf("unknown fork %q: want one of bellatrix, capella, deneb, electra, fulu", name)
}

// DataVersion is the same fork in go-eth2-client's vocabulary.
func (f Fork) DataVersion() spec.DataVersion {
	switch f {
	case Bellatrix:
		return spec.DataVersionBellatrix
	case Capella:
		return spec.DataVersionCapella
	case Deneb:
		return spec.DataVersionDeneb
	case Electra:
		return spec.DataVersionElectra
	case Fulu:
		return spec.DataVersionFulu
	default:
		return spec.DataVersionUnknown
	}
}

// ForkOf is the inverse of Fork.DataVersion; 0 for a version without builders.
func ForkOf(version spec.DataVersion) Fork {
	for _, f := range Forks {
		if f.DataVersion() == version {
			return f
		}
	}
	return 0
}

// ForkPoint says from which epoch on a fork is active and which fork version signatures carry from
// there.
type ForkPoint struct {
	Fork    Fork
	Epoch   phase0.Epoch
	Version phase0.Version
}

// BlobLimit says from which epoch on how many blobs a block may carry (the BLOB_SCHEDULE of the
// fulu fork, and the limits of the forks before it).
type BlobLimit struct {
	Epoch    phase0.Epoch
	MaxBlobs uint64
}
