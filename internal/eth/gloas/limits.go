package gloas

import (
	"errors"
	"fmt"
)

// ErrLimit means that a block carries more of something than the specification lets it.
var ErrLimit = errors.New("more than a block may carry")

// Limits of what a block carries, of the mainnet preset (consensus-specs; the types of gloas have
// none of their own). Deposit requests have no limit.
const (
	MaxProposerSlashings     = 16
	MaxAttesterSlashings     = 1
	MaxAttestations          = 8
	MaxDeposits              = 0
	MaxVoluntaryExits        = 16
	MaxCredentialChanges     = 16
	MaxPayloadAttestations   = 4
	MaxWithdrawals           = 16
	MaxWithdrawalRequests    = 16
	MaxConsolidationRequests = 2
	MaxBuilderDeposits       = 64
	MaxBuilderExits          = 16
)

// MinDeposit is what always stays with a builder, in Gwei (consensus-specs, MIN_DEPOSIT_AMOUNT).
const MinDeposit = 1_000_000_000

// limit is how many there are of something, and how many there may be.
type limit struct {
	what       string
	have, most int
}

func check(limits ...limit) error {
	for _, l := range limits {
		if l.have > l.most {
			return fmt.Errorf("%d %s: %w: %d", l.have, l.what, ErrLimit, l.most)
		}
	}
	return nil
}

// CheckLimits returns an error that wraps ErrLimit if the body carries too much of something. A bid
// may have maxBlobs commitments: eth.Spec has the slot's limit.
func (b *BeaconBlockBody) CheckLimits(maxBlobs uint64) error {
	err := check(
		limit{"proposer slashings", len(b.ProposerSlashings), MaxProposerSlashings},
		limit{"attester slashings", len(b.AttesterSlashings), MaxAttesterSlashings},
		limit{"attestations", len(b.Attestations), MaxAttestations},
		limit{"deposits", len(b.Deposits), MaxDeposits},
		limit{"voluntary exits", len(b.VoluntaryExits), MaxVoluntaryExits},
		limit{"BLS-to-execution changes", len(b.BLSToExecutionChanges), MaxCredentialChanges},
		limit{"payload attestations", len(b.PayloadAttestations), MaxPayloadAttestations},
	)
	if err != nil {
		return err
	}
	if err := b.SignedExecutionPayloadBid.Message.CheckLimits(maxBlobs); err != nil {
		return err
	}
	return b.ParentExecutionRequests.CheckLimits()
}

// CheckLimits returns an error that wraps ErrLimit if the bid is for more blobs than a block may
// have.
func (b *ExecutionPayloadBid) CheckLimits(maxBlobs uint64) error {
	if have := uint64(len(b.BlobKZGCommitments)); have > maxBlobs {
		return fmt.Errorf("%d blobs: %w: %d", have, ErrLimit, maxBlobs)
	}
	return nil
}

// CheckLimits returns an error that wraps ErrLimit if there are too many requests of a type.
func (r *ExecutionRequests) CheckLimits() error {
	return check(
		limit{"withdrawal requests", len(r.Withdrawals), MaxWithdrawalRequests},
		limit{"consolidation requests", len(r.Consolidations), MaxConsolidationRequests},
		limit{"builder deposits", len(r.BuilderDeposits), MaxBuilderDeposits},
		limit{"builder exits", len(r.BuilderExits), MaxBuilderExits},
	)
}

// CheckLimits returns an error that wraps ErrLimit if the payload has too many withdrawals.
func (p *ExecutionPayload) CheckLimits() error {
	return check(limit{"withdrawals", len(p.Withdrawals), MaxWithdrawals})
}
