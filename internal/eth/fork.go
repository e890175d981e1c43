package eth

import (
	"errors"
	"fmt"
	"strings"

	"github.com/attestantio/go-eth2-client/spec"
	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// Fork is a consensus fork that the builder network knows: the place of its row in Table, counted
// from 1. The zero value is none. Forks are ordered, but only this package compares them: other
// rooms ask a fork what it has.
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

// ErrFork says that a room has no form for what was asked for in a fork.
var ErrFork = errors.New("the fork is not supported")

// row is the fork's row; that of no fork says that it has nothing.
func (f Fork) row() *Row {
	if !f.Known() {
		return &noRow
	}
	return &Table[f-1]
}

var noRow Row

// Known says whether the table has a row for the fork.
func (f Fork) Known() bool { return f > 0 && int(f) <= len(Table) }

// Includes says that the fork is another one, or a later one, which has what the other has brought.
func (f Fork) Includes(other Fork) bool { return f >= other }

// Forks lists all forks of the table, oldest first.
func Forks() []Fork {
	all := make([]Fork, len(Table))
	for i := range all {
		all[i] = Fork(i + 1)
	}
	return all
}

// ForkNames lists the names of all forks, oldest first, as flags and errors show them.
func ForkNames() string {
	names := make([]string, len(Table))
	for i := range Table {
		names[i] = Table[i].Name
	}
	return strings.Join(names, ", ")
}

// String returns the lower-case name that Eth-Consensus-Version carries (builder-specs,
// "Versioning").
func (f Fork) String() string {
	if !f.Known() {
		return fmt.Sprintf("fork(%d)", uint8(f))
	}
	return f.row().Name
}

// ParseFork reads a fork name in any letter case.
func ParseFork(name string) (Fork, error) {
	for _, f := range Forks() {
		if strings.EqualFold(name, f.row().Name) {
			return f, nil
		}
	}
	return 0, fmt.Errorf("unknown fork %q: want one of %s", name, ForkNames())
}

// DataVersion is the same fork in go-eth2-client's vocabulary; DataVersionUnknown if it has none.
func (f Fork) DataVersion() spec.DataVersion { return f.row().Library }

// ForkOf is the inverse of Fork.DataVersion; 0 for a version without builders.
func ForkOf(version spec.DataVersion) Fork {
	return find(func(r *Row) bool { return r.Library == version && version != spec.DataVersionUnknown })
}

// ForkValidatedBy is the fork whose blocks a JSON-RPC method validates; 0 for other methods.
func ForkValidatedBy(method string) Fork {
	return find(func(r *Row) bool { return r.Validation.Method == method && method != "" })
}

func find(is func(*Row) bool) Fork {
	for i := range Table {
		if is(&Table[i]) {
			return Fork(i + 1)
		}
	}
	return 0
}

// HasBlindedBlocks says that proposers register, get bids and sign blinded blocks.
func (f Fork) HasBlindedBlocks() bool { return f.row().BlindedBlocks }

// HasWithdrawals says that payloads list withdrawals, and headers their root.
func (f Fork) HasWithdrawals() bool { return f.row().Withdrawals }

// HasBlobs says that blocks carry blobs, and payloads blob gas.
func (f Fork) HasBlobs() bool { return f.row().Blobs.PerBlock > 0 }

// HasRequests says that blocks carry execution requests.
func (f Fork) HasRequests() bool { return f.row().Requests }

// ProofsPerBlob is how many proofs come with a blob: one, or one for each cell of its extension.
func (f Fork) ProofsPerBlob() int { return f.row().Blobs.Proofs }

// HasCellProofs says that blobs come with proofs of their cells.
func (f Fork) HasCellProofs() bool { return f.ProofsPerBlob() > 1 }

// HasBlobSchedule says that the limit of blobs changes by configuration, without a fork.
func (f Fork) HasBlobSchedule() bool { return f.row().Blobs.Schedule }

// HasCommitteeBits says that an attestation is by several committees, which its bits name
// (EIP-7549).
func (f Fork) HasCommitteeBits() bool { return f.row().Operations.Committees > 1 }

// Operations limits what a block carries beside its payload.
func (f Fork) Operations() Operations { return f.row().Operations }

// HasLookahead says that the beacon state names the proposers of the next epoch (EIP-7917).
func (f Fork) HasLookahead() bool { return f.row().Lookahead }

// Validation is how execution nodes are asked about a block.
func (f Fork) Validation() Validation { return f.row().Validation }

// NewPayload is the version of engine_newPayload that takes the fork's payloads.
func (f Fork) NewPayload() int { return f.row().NewPayload }

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
