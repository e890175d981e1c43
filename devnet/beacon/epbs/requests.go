package epbs

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

const (
	// builderPrefix begins the withdrawal credentials of builders (BUILDER_WITHDRAWAL_PREFIX).
	builderPrefix = 0xB0
	// exitDelay is how many epochs a builder's balance stays after it has asked to leave
	// (MIN_BUILDER_WITHDRAWABILITY_DELAY).
	exitDelay phase0.Epoch = 64
)

// requests applies the requests of builders (EIP-8282). Validators of the devnet neither come nor
// go, so that theirs change nothing.
func (s *State) requests(r *Rules, list *gloas.ExecutionRequests) {
	for _, deposit := range list.BuilderDeposits {
		s.deposit(r, deposit)
	}
	for _, exit := range list.BuilderExits {
		s.exit(r, exit)
	}
}

// deposit adds to a builder's balance, or makes a builder if its key has signed the deposit. Any
// other deposit is lost.
func (s *State) deposit(r *Rules, d *gloas.BuilderDepositRequest) {
	if index, known := s.Find(d.Pubkey); known {
		s.Builders[index].Balance += d.Amount
		return
	}
	root := eth.SigningRoot(depositRoot(d), gloas.DepositDomain(r.Spec))
	if d.WithdrawalCredentials[0] != builderPrefix || bls.Verify(d.Pubkey, root, d.Signature) != nil {
		return
	}
	s.Builders = append(s.Builders, gloas.Builder{
		Pubkey: d.Pubkey, Version: gloas.PayloadBuilderVersion, Balance: d.Amount,
		ExecutionAddress: bellatrix.ExecutionAddress(d.WithdrawalCredentials[12:]),
		DepositEpoch:     r.Spec.EpochOf(s.Slot), WithdrawableEpoch: gloas.FarFuture,
	})
}

// depositRoot is the root of what a depositor signs: key, credentials and amount (consensus-specs,
// DepositMessage).
func depositRoot(d *gloas.BuilderDepositRequest) phase0.Root {
	join := func(a, b []byte) []byte {
		hash := sha256.Sum256(append(append(make([]byte, 0, 64), a...), b...))
		return hash[:]
	}
	amount, zero := make([]byte, 32), make([]byte, 32)
	binary.LittleEndian.PutUint64(amount, uint64(d.Amount))
	key := join(d.Pubkey[:32], append(append([]byte{}, d.Pubkey[32:]...), make([]byte, 16)...))
	return phase0.Root(join(join(key, d.WithdrawalCredentials[:]), join(amount, zero)))
}

// exit lets a builder go that owes nothing, if its own account asks for it.
func (s *State) exit(r *Rules, e *gloas.BuilderExitRequest) {
	index, known := s.Find(e.Pubkey)
	if !known || s.Builders[index].ExecutionAddress != e.SourceAddress ||
		s.Builders[index].WithdrawableEpoch != gloas.FarFuture || s.Owed(index) > 0 {
		return
	}
	s.Builders[index].WithdrawableEpoch = r.Spec.EpochOf(s.Slot) + exitDelay
}

// Find returns the index of the builder with a key.
func (s *State) Find(key phase0.BLSPubKey) (gloas.BuilderIndex, bool) {
	for i := range s.Builders {
		if s.Builders[i].Pubkey == key {
			return gloas.BuilderIndex(i), true
		}
	}
	return 0, false
}
