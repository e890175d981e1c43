package beacon

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/beacon/epbs"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/gloas/check"
	"github.com/gavel-relay/gavel/internal/serve"
)

// publishBid takes a bid for the network (beacon-APIs, publishExecutionPayloadBid). It keeps the
// rules of gossip; one that is ignored or rejected there is refused here.
func (b *Beacon) publishBid(w http.ResponseWriter, r *http.Request) {
	if fork, err := forkOf(r); err != nil || !isGloas(fork) {
		serve.Refuse(w, r, bad("%s is %.20q: want gloas", versionHeader, r.Header.Get(versionHeader)))
		return
	}
	body, json, _, err := readPublished(w, r)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	read := gloas.Mainnet.SignedExecutionPayloadBid.Decode
	if json {
		read = gloas.Mainnet.SignedExecutionPayloadBid.FromJSON
	}
	bid, err := read(body)
	if err != nil {
		serve.Refuse(w, r, bad("decode bid: %v", err))
		return
	}
	if err := b.takeBid(bid); err != nil {
		serve.Refuse(w, r, bad("bid: %v", err))
		return
	}
	b.events.send("execution_payload_bid", versioned(inJSON(gloas.Mainnet.SignedExecutionPayloadBid.ToJSON(bid))))
	w.WriteHeader(http.StatusOK)
}

func (b *Beacon) takeBid(bid *gloas.SignedExecutionPayloadBid) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.bidCase(bid)
	if verdict := b.market.bids.Add(c); verdict.Outcome != check.Taken {
		return fmt.Errorf("%s by rule %q: %s", verdict.Outcome, verdict.Rule, verdict.Detail)
	}
	return nil
}

// bidCase is a bid with what this node knows of its slot and parent. The caller holds mu.
func (b *Beacon) bidCase(bid *gloas.SignedExecutionPayloadBid) *check.BidCase {
	m, spec := bid.Message, b.cfg.Spec
	c := &check.BidCase{Spec: spec, Bid: bid, NowSlot: spec.SlotAt(b.cfg.Clock.Now())}
	head, status := b.expectedParent(m.Slot)
	c.Head = check.Head{Root: head.Root, Hash: head.payloadHash(status)}
	parent := b.choice.blocks[m.ParentBlockRoot]
	if p := b.preferencesOn(cmp.Or(parent, head), m.Slot); p != nil {
		c.Preferences = p.Message
	}
	if parent == nil {
		return c
	}
	c.Parent, c.PrevRandao = &check.Parent{Slot: parent.Slot}, phase0.Root(parent.randao)
	if limit, known := b.gasLimitOf(parent, m.ParentBlockHash); known {
		c.ParentGasLimit = &limit
	}
	state, err := b.stateAt(parent)
	if err != nil || uint64(m.BuilderIndex) >= uint64(len(state.Builders)) {
		return c
	}
	c.Builder = &check.Builder{
		Builder: state.Builders[m.BuilderIndex], FinalizedEpoch: b.finalEpoch(spec.EpochOf(m.Slot)),
		Owed: state.Owed(m.BuilderIndex),
	}
	for _, exit := range b.requestsOf(parent, epbs.Full).BuilderExits {
		c.Builder.Exits = c.Builder.Exits || exit.Pubkey == c.Builder.Pubkey
	}
	return c
}

// gasLimitOf returns the gas limit of a payload that a block can build on: the one of the parent,
// or of the newest block before it with this payload. The caller holds mu.
func (b *Beacon) gasLimitOf(parent *Block, hash phase0.Hash32) (uint64, bool) {
	for block := parent; block != nil; block = b.choice.blocks[block.ParentRoot] {
		if block.BlockHash != hash {
			continue
		}
		switch r := b.market.revealed[block.Root]; {
		case block.bid != nil && r != nil:
			return block.bid.GasLimit, true
		case block.bid != nil:
			return 0, false
		case block.Slot == 0:
			return localGasLimit, true
		}
		return latestHeader(block).GasLimit, true
	}
	return 0, false
}
