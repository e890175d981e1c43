package relay

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// blobLimit is how many blobs a block of the world may have at most.
const blobLimit = 21

// prepareBidFor opens a slot with one block in it, and returns the bid that is served for it.
func (r *specs) prepareBidFor(t *suite.T, order world.Order) (sale, *offered, *gloas.SignedExecutionPayloadBid) {
	a := r.openGloas(t, world.Wanted{})
	o := a.prepareOffered(a.offerInOrder("a", gwei(1000), order))
	return a, o, a.checkSold(o)
}

// describeGloasBids adds specs about what is in a bid of gloas.
func describeGloasBids(r *specs) {
	r.It("GLO-BID-01", "answers in JSON by default, and names the fork", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{})
		a.prepareOffered(a.offer("a", gwei(1000)))
		for _, accept := range []string{"", "*/*", jsonType, jsonType + ";q=0.8, */*;q=0.1"} {
			ask := a.askFor()
			ask.Header["Accept"] = accept
			answer := ask.send()
			t.Status(answer, http.StatusOK)
			checkMedia(t, answer, jsonType)
			a.readSold(answer)
			t.Check(versionOf(answer) == eth.Gloas.String(), "version gloas in the body", answer)
		}
	})
	r.It("GLO-BID-01", "answers in SSZ where that is asked for, with the same bid", func(t *suite.T) {
		a, _, bid := r.prepareBidFor(t, world.Order{})
		ask := a.askFor()
		ask.Header["Accept"] = sszType
		answer := ask.send()
		t.Status(answer, http.StatusOK)
		checkMedia(t, answer, sszType)
		got, err := gloas.Mainnet.SignedExecutionPayloadBid.Decode(answer.Body)
		t.Check(err == nil, "a signed execution payload bid in SSZ", err)
		t.Check(got.Signature == bid.Signature && got.Message.BlockHash == bid.Message.BlockHash, "the bid of the JSON",
			got.Message)
	})
	r.It("GLO-BID-02", "signs its bid as the staked builder", func(t *suite.T) {
		a, _, bid := r.prepareBidFor(t, world.Order{Blobs: 1})
		a.checkSigned(bid)
	})
	r.It("GLO-BID-03", "bids for the slot and the parent of the request", func(t *suite.T) {
		a, _, bid := r.prepareBidFor(t, world.Order{})
		t.Check(bid.Message.Slot == a.slot.Slot, fmt.Sprintf("slot %d", a.slot.Slot), bid.Message.Slot)
		t.Check(bid.Message.ParentBlockHash == a.slot.ParentHash, "parent hash "+a.slot.ParentHash.String(),
			bid.Message.ParentBlockHash)
		t.Check(bid.Message.ParentBlockRoot == a.slot.ParentRoot, "parent root "+a.slot.ParentRoot.String(),
			bid.Message.ParentBlockRoot)
	})
	r.It("GLO-BID-04", "has the RANDAO mix of the parent", func(t *suite.T) {
		a, _, bid := r.prepareBidFor(t, world.Order{})
		t.Check(phase0.Hash32(bid.Message.PrevRandao) == a.slot.PrevRandao, "prev_randao "+a.slot.PrevRandao.String(),
			bid.Message.PrevRandao)
	})
	r.It("GLO-BID-05", "pays the fee recipient of the proposer's preferences", func(t *suite.T) {
		a, _, bid := r.prepareBidFor(t, world.Order{})
		t.Check(bid.Message.FeeRecipient == a.feeRecipient, "fee_recipient "+a.feeRecipient.String(),
			bid.Message.FeeRecipient)
	})
	r.It("GLO-BID-05", "does not bid with a block for another fee recipient", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{})
		good := a.prepareOffered(a.offer("a", gwei(1000)))
		own := a.feeRecipient
		a.feeRecipient[3] ^= 1
		other := a.offer("b", gwei(2000))
		a.feeRecipient = own
		t.Status(a.sendBlock(other), http.StatusBadRequest)
		a.checkSold(good)
	})
	r.It("GLO-BID-06", "has the gas limit that follows from the parent's and the proposer's target", func(t *suite.T) {
		a, _, bid := r.prepareBidFor(t, world.Order{})
		want := nextGasLimit(a.parentGasLimit(), world.GasTarget(int(a.slot.ValidatorIndex)))
		t.Check(bid.Message.GasLimit == want, fmt.Sprintf("gas_limit %d", want), bid.Message.GasLimit)
	})
	r.It("GLO-BID-06", "does not bid with a block for another target", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{})
		good := a.prepareOffered(a.offer("a", gwei(1000)))
		target := uint64(45_000_000) // towards the other side of the parent's
		if world.GasTarget(int(a.slot.ValidatorIndex)) < a.parentGasLimit() {
			target = 75_000_000
		}
		other := a.offerInOrder("b", gwei(2000), world.Order{GasLimit: target})
		if other.Message.GasLimit == good.Message.GasLimit {
			t.Inconclusive("both targets lead to the gas limit %d", good.Message.GasLimit)
		}
		t.Status(a.sendBlock(other), http.StatusBadRequest)
		a.checkSold(good)
	})
	r.It("GLO-BID-08", "bids what the best block pays, in whole Gwei", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{})
		a.prepareOffered(a.offer("a", gwei(1000)))
		dust := new(uint256.Int).Add(gwei(3000), uint256.NewInt(999_999_999))
		best := a.prepareOffered(a.offer("b", dust))
		a.prepareOffered(a.offer("c", gwei(2000)))
		bid := a.checkSold(best).Message
		t.Check(bid.Value+bid.ExecutionPayment == best.totalGwei(), fmt.Sprintf("value and execution_payment of %d together",
			best.totalGwei()), fmt.Sprintf("%d and %d", bid.Value, bid.ExecutionPayment))
	})
	r.It("GLO-BID-09", "has the commitments and the requests' root of its block", func(t *suite.T) {
		_, o, bid := r.prepareBidFor(t, world.Order{Blobs: 2, Requests: true})
		root, err := gloas.Mainnet.ExecutionRequests.Root(o.ExecutionRequests)
		t.Ready(err, "hash requests")
		t.Check(slices.Equal(bid.Message.BlobKZGCommitments, o.BlobsBundle.Commitments), "the block's commitments, in order",
			bid.Message.BlobKZGCommitments)
		t.Check(bid.Message.ExecutionRequestsRoot == root, "execution_requests_root "+root.String(),
			bid.Message.ExecutionRequestsRoot)
		t.Check(len(bid.Message.BlobKZGCommitments) <= blobLimit, "no more blobs than the slot allows",
			len(bid.Message.BlobKZGCommitments))
	})
	r.It("GLO-BID-09", "has the root of empty requests where its block has none", func(t *suite.T) {
		_, _, bid := r.prepareBidFor(t, world.Order{})
		t.Check(bid.Message.ExecutionRequestsRoot.String() == emptyRequestsRoot, "execution_requests_root "+emptyRequestsRoot,
			bid.Message.ExecutionRequestsRoot)
	})
}

// emptyRequestsRoot is the hash tree root of ExecutionRequests without a request (consensus-specs,
// as a number, so that a mistake in hashing them is noticed).
const emptyRequestsRoot = "0x87b69a306c8e430d0857f7c4ac5e27cecffa1108d43c2e5df7388056fea7a423"

// nextGasLimit is the gas limit of a block whose proposer wants a target: it moves towards it by
// less than a 1,024th of the parent's.
func nextGasLimit(parent, target uint64) uint64 {
	step := parent/1024 - 1
	if target > parent {
		return min(target, parent+step)
	}
	return max(target, parent-step)
}

// checkSigned fails the spec unless a bid is signed by the world's staked builder under the domain
// of the slot's fork.
func (a sale) checkSigned(bid *gloas.SignedExecutionPayloadBid) {
	t, staked := a.t, a.t.World.Facts.Staked
	t.Check(bid.Message.BuilderIndex == staked.Index, fmt.Sprintf("builder_index %d", staked.Index),
		bid.Message.BuilderIndex)
	key, err := probe.ParseBLSKey(unhex(staked.SecretKey))
	t.Ready(err, "read the staked builder's key")
	root, err := gloas.Mainnet.ExecutionPayloadBid.Root(bid.Message)
	t.Ready(err, "hash a bid")
	err = probe.VerifyBLS(key.Public, probe.SigningRoot(root, a.domain(probe.DomainBeaconBuilder)), bid.Signature)
	t.Check(err == nil, "the signature of the staked builder under DOMAIN_BEACON_BUILDER", err)
}

// checkMedia fails the spec unless an answer is of a media type and names gloas.
func checkMedia(t *suite.T, answer *probe.Answer, media string) {
	t.Check(strings.HasPrefix(answer.Header.Get("Content-Type"), media), media, answer.Header.Get("Content-Type"))
	t.Check(answer.Header.Get("Eth-Consensus-Version") == eth.Gloas.String(), "Eth-Consensus-Version: gloas",
		answer.Header.Get("Eth-Consensus-Version"))
}
