package builder

import (
	"slices"
	"testing"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/devnet/chain/chaintest"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// submitted lets a builder of some conduct bid once in slot 3, and returns what a relay was sent.
func submitted(t *testing.T, conduct Conduct) []*builderspec.VersionedSubmitBlockRequest {
	t.Helper()
	spec := specOf(eth.Capella)
	node := opened(t, spec)
	r, c := newRelay(t, registered(3))
	b := newBuilder(spec, node, c)
	b.Strategy, b.Conduct = Fixed{milli(10)}, conduct
	b.auction(t.Context(), attributesFor(node, 3))
	if conduct.Replay {
		b.auction(t.Context(), attributesFor(node, 3))
	}
	return r.got()
}

// parts are what cheats change in a submission.
func parts(t *testing.T, v *builderspec.VersionedSubmitBlockRequest) (trace builderv1.BidTrace, block *payload.Payload,
	signed bool) {
	t.Helper()
	root, err := v.Capella.Message.HashTreeRoot()
	if err != nil {
		t.Fatal(err)
	}
	signing := eth.SigningRoot(root, specOf(eth.Capella).BuilderDomain())
	signed = bls.Verify(bls.Derive("builder", 1).PublicKey(), signing, v.Capella.Signature) == nil
	return *v.Capella.Message, payload.FromCapella(v.Capella.ExecutionPayload), signed
}

// Each cheat breaks what it is named after, and all that it leaves alone is as an honest builder
// has it.
func TestCheats(t *testing.T) {
	wanted, wantedBlock, _ := parts(t, submitted(t, Conduct{})[0])
	for _, cheat := range cheats {
		trace, block, signed := parts(t, submitted(t, Conduct{Cheats: []Cheat{cheat}})[0])
		var wrong []Cheat
		for name, is := range map[Cheat]bool{
			CheatValue: !trace.Value.Eq(wanted.Value), CheatBlockHash: trace.BlockHash != block.BlockHash,
			CheatParentHash: trace.ParentHash != wanted.ParentHash, CheatGasLimit: trace.GasLimit != block.GasLimit,
			CheatGasUsed: trace.GasUsed != block.GasUsed, CheatTimestamp: block.Timestamp != wantedBlock.Timestamp,
			CheatPrevRandao:   block.PrevRandao != wantedBlock.PrevRandao,
			CheatWithdrawals:  len(block.Withdrawals) != len(wantedBlock.Withdrawals),
			CheatFeeRecipient: trace.ProposerFeeRecipient != wanted.ProposerFeeRecipient,
			CheatProposer:     trace.ProposerPubkey != wanted.ProposerPubkey, CheatSlot: trace.Slot != wanted.Slot,
			CheatSignature: !signed, CheatEmptyPayload: len(block.Transactions) == 0,
			CheatStateRoot: block.StateRoot != wantedBlock.StateRoot && trace.BlockHash == block.BlockHash &&
				cheat != CheatPayment,
			CheatPayment: len(block.Transactions) > 0 &&
				*lastOf(t, block).To() == chaintest.AddressOf(chaintest.Wallet("builder", 0)),
		} {
			if is {
				wrong = append(wrong, name)
			}
		}
		if !slices.Equal(wrong, []Cheat{cheat}) {
			t.Errorf("%s: wrong are %v", cheat, wrong)
		}
	}
}

func lastOf(t *testing.T, block *payload.Payload) *types.Transaction {
	t.Helper()
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(block.Transactions[len(block.Transactions)-1]); err != nil {
		t.Fatal(err)
	}
	return tx
}

// A burst is the same block again, each time for a wei less; what is replayed is the same bid,
// signature and all.
func TestBurstAndReplay(t *testing.T) {
	values := map[string]int{}
	for _, v := range submitted(t, Conduct{Burst: 3}) {
		trace, _, signed := parts(t, v)
		if values[trace.Value.Dec()]++; !signed {
			t.Errorf("a bid of %s is not signed", trace.Value)
		}
	}
	want := milli(10).Dec()
	if len(values) != 4 || values[want] != 1 || values[milli(10).SubUint64(milli(10), 3).Dec()] != 1 {
		t.Errorf("bids %v, want %s and three less", values, want)
	}
	got := submitted(t, Conduct{Replay: true})
	if len(got) != 3 || got[1].Capella.Signature != got[0].Capella.Signature {
		t.Errorf("%d submissions, the second one is not the first one again", len(got))
	}
}
