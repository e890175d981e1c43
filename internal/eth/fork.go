package eth

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attestantio/go-eth2-client/spec"
	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// Fork is a consensus fork: the place of its row in Table, counted from 1. The zero value is no
// fork. Forks are ordered, but only this package compares them: other packages ask a fork what it
// has.
type Fork uint8

// The forks, oldest first. Bellatrix is the first one with an execution payload, and therefore with
// block building.
const (
	Bellatrix Fork = iota + 1
	Capella
	Deneb
	Electra
	Fulu
	Gloas
)

// ErrFork means that a package does not support what was asked for in a fork.
var ErrFork = errors.New("the fork is not supported")

// row returns the fork's row; an empty row if the table has none.
func (f Fork) row() *Row {
	if !f.Known() {
		return &noRow
	}
	return &Table[f-1]
}

var noRow Row

// Known says whether the table has a row for the fork.
func (f Fork) Known() bool { return f > 0 && int(f) <= len(Table) }

// Includes says whether the fork is the other one or a later one, so that it has what the other has
// introduced.
func (f Fork) Includes(other Fork) bool { return f >= other }

// KnownForks lists all forks of the table, oldest first: a network may go over to each of them.
func KnownForks() []Fork {
	all := make([]Fork, len(Table))
	for i := range all {
		all[i] = Fork(i + 1)
	}
	return all
}

// Forks lists the forks with blinded blocks, oldest first. These are the forks that all packages
// have forms of; a later one is known, and refused by name.
func Forks() []Fork {
	return slices.DeleteFunc(KnownForks(), func(f Fork) bool { return !f.HasBlindedBlocks() })
}

// ForkNames lists the names of Forks, as flags and errors show them.
func ForkNames() string {
	var names []string
	for _, f := range Forks() {
		names = append(names, f.String())
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

// ParseFork reads the name of a known fork, in any letter case.
func ParseFork(name string) (Fork, error) {
	for _, f := range KnownForks() {
		if strings.EqualFold(name, f.row().Name) {
			return f, nil
		}
	}
	return 0, fmt.Errorf("unknown fork %q: want one of %s", name, ForkNames())
}

// DataVersion returns go-eth2-client's name of the fork; DataVersionUnknown if it has none.
func (f Fork) DataVersion() spec.DataVersion { return f.row().Library }

// ForkOf is the inverse of Fork.DataVersion; 0 for a version without builders.
func ForkOf(version spec.DataVersion) Fork {
	return find(func(r *Row) bool { return r.Library == version && version != spec.DataVersionUnknown })
}

// ForkValidatedBy returns the fork whose blocks a JSON-RPC method validates; 0 for other methods.
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

// HasBlindedBlocks says whether proposers register, get bids and sign blinded blocks.
func (f Fork) HasBlindedBlocks() bool { return f.row().BlindedBlocks }

// HasWithdrawals says whether payloads list withdrawals, and headers have their root.
func (f Fork) HasWithdrawals() bool { return f.row().Withdrawals }

// HasBlobs says whether blocks carry blobs, and payloads have blob gas.
func (f Fork) HasBlobs() bool { return f.row().Blobs.PerBlock > 0 }

// HasRequests says whether blocks carry execution requests.
func (f Fork) HasRequests() bool { return f.row().Requests }

// HasAccessLists says whether payloads have an access list and the slot's number, and blocks carry
// requests of builders.
func (f Fork) HasAccessLists() bool { return f.row().AccessLists }

// ProofsPerBlob returns how many proofs come with a blob: one, or one for each cell of its
// extension.
func (f Fork) ProofsPerBlob() int { return f.row().Blobs.Proofs }

// HasCellProofs says whether blobs come with proofs of their cells.
func (f Fork) HasCellProofs() bool { return f.ProofsPerBlob() > 1 }

// HasBlobSchedule says whether the limit of blobs changes by configuration, without a fork.
func (f Fork) HasBlobSchedule() bool { return f.row().Blobs.Schedule }

// HasCommitteeBits says whether an attestation is of several committees, which its bits name
// (EIP-7549).
func (f Fork) HasCommitteeBits() bool { return f.row().Operations.Committees > 1 }

// Operations returns the limits of what a block carries besides its payload.
func (f Fork) Operations() Operations { return f.row().Operations }

// HasLookahead says whether the beacon state names the proposers of the next epoch (EIP-7917).
func (f Fork) HasLookahead() bool { return f.row().Lookahead }

// Validation returns how execution nodes are asked to validate a block.
func (f Fork) Validation() Validation { return f.row().Validation }

// NewPayload returns the version of engine_newPayload for the fork's payloads.
func (f Fork) NewPayload() int { return f.row().NewPayload }

// ForkPoint says from which epoch on a fork is active, and its fork version, which signatures
// depend on.
type ForkPoint struct {
	Fork    Fork
	Epoch   phase0.Epoch
	Version phase0.Version
}
