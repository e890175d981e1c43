package app

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
)

// habits are what a foreign builder does otherwise than it should. None is a builder without a
// fault.
type habits struct {
	// silent asks who proposes, and submits nothing.
	silent bool
	// garbage submits bytes that are no submission.
	garbage bool
	// stale submits the first payload again for all later slots, in messages that are right otherwise.
	stale bool
	// parrot submits the first submission again for all later slots, as it was.
	parrot bool
	// unpaid promises a value that the block does not pay.
	unpaid bool
	// inTurn serves one relay after another.
	inTurn bool
	// insists repeats at once, many times, what is refused.
	insists bool
}

// foreign is a builder of another make than gavel's: it knows world and relays by HTTP only, bids
// once in a slot, and submits JSON packed with gzip.
type foreign struct {
	habits

	clock  clock.Clock
	world  *world.Client
	beacon string
	domain phase0.Domain
	relays []string
	key    *probe.BLSKey

	mu    sync.Mutex // guards the field below
	first *builderfulu.SubmitBlockRequest
	group sync.WaitGroup
}

// foreignBidWei is what a foreign builder bids.
const foreignBidWei = 1_000_000_000_000_000

// mostInsisted is how often a builder that insists repeats a bid.
const mostInsisted = 20

// run bids until the context ends.
func (f *foreign) run(ctx context.Context) {
	defer f.group.Wait()
	var seen []eth.PayloadAttributes
	for ctx.Err() == nil {
		events, err := f.ask(f.beacon).Open(ctx, "/eth/v1/events?topics=payload_attributes", nil)
		if err != nil {
			_ = f.clock.Until(ctx, f.clock.Now().Add(time.Second)) // the loop looks at the context
			continue
		}
		events.Wait(time.Hour, func(event string) bool {
			at, err := eth.ParsePayloadAttributes([]byte(event))
			if err == nil && !slices.ContainsFunc(seen, at.Same) {
				seen = append(seen, at)
				f.group.Go(func() { f.bid(ctx, at) })
			}
			return ctx.Err() != nil
		})
		events.Close()
	}
}

// ask returns a client for an address.
func (f *foreign) ask(address string) *probe.Client {
	return probe.NewClient(address, nil, time.Hour).By(f.clock)
}

// bid bids in one slot, until it is over.
func (f *foreign) bid(ctx context.Context, at eth.PayloadAttributes) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.group.Go(func() {
		defer cancel()
		_ = f.clock.Until(ctx, time.Unix(int64(at.Timestamp), 0).Add(f.world.Facts.Slots(1))) // cancel ends it too
	})
	var relays sync.WaitGroup
	for _, relay := range f.relays {
		if f.inTurn {
			f.serve(ctx, relay, at)
			continue
		}
		relays.Go(func() { f.serve(ctx, relay, at) })
	}
	relays.Wait()
}

// serve bids at one relay, if it lists the slot's proposer. What fails is left out.
func (f *foreign) serve(ctx context.Context, relay string, at eth.PayloadAttributes) {
	duties, err := f.ask(relay).Do(ctx, probe.Request{Method: http.MethodGet, Path: "/relay/v1/builder/validators"})
	if err != nil {
		return
	}
	var list []struct {
		Slot  uint64                                 `json:"slot,string"`
		Entry *builderv1.SignedValidatorRegistration `json:"entry"`
	}
	if duties.JSON(&list) != nil {
		return
	}
	for _, duty := range list {
		if phase0.Slot(duty.Slot) != at.Slot || f.silent {
			continue
		}
		body, err := f.submission(ctx, at, duty.Entry.Message)
		if err != nil {
			return
		}
		f.submit(ctx, relay, body)
	}
}

// submit submits a body once, or many times if it insists and the relay refuses.
func (f *foreign) submit(ctx context.Context, relay string, body []byte) {
	header := map[string]string{"Content-Type": "application/json", "Content-Encoding": "gzip"}
	if f.garbage {
		header = map[string]string{"Content-Type": "application/octet-stream"}
	}
	for range mostInsisted {
		answer, err := f.ask(relay).Do(ctx, probe.Request{Method: http.MethodPost, Path: "/relay/v1/builder/blocks",
			Header: header, Body: body})
		if !f.insists || err != nil || answer.Status == http.StatusOK {
			return
		}
	}
}

// submission makes the body of a submission.
func (f *foreign) submission(ctx context.Context, at eth.PayloadAttributes, to *builderv1.ValidatorRegistration) (
	[]byte, error) {
	if f.garbage {
		return bytes.Repeat([]byte("no submission "), 200), nil
	}
	s, err := f.block(ctx, at, to)
	if err != nil {
		return nil, err
	}
	root, err := s.Message.HashTreeRoot()
	if err != nil {
		return nil, err
	}
	signed := *s // a parrot sends one block to several relays at once
	signed.Signature = f.key.Sign(probe.SigningRoot(root, f.domain))
	raw, err := probe.Submission(f.world.Facts.ForkOf(), &signed).MarshalJSON()
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(raw)
	err = cmp.Or(err, w.Close())
	return packed.Bytes(), err
}

// block has the world build a block, and promises its value.
func (f *foreign) block(ctx context.Context, at eth.PayloadAttributes, to *builderv1.ValidatorRegistration) (
	*builderfulu.SubmitBlockRequest, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first != nil && f.parrot {
		return f.first, nil
	}
	value := uint256.NewInt(foreignBidWei)
	s := f.first
	if s == nil || !f.stale {
		order := world.Order{
			Slot: world.Slot{Slot: at.Slot, ParentHash: at.ParentHash, ParentRoot: at.ParentRoot, PrevRandao: at.PrevRandao,
				Withdrawals: at.Withdrawals},
			FeeRecipient: to.FeeRecipient.String(), PaysWei: value.ToBig(), GasLimit: to.GasLimit, Extra: "foreign",
		}
		if f.unpaid {
			order.PaysWei = nil
		}
		raw, err := f.world.Block(ctx, order)
		if err != nil {
			return nil, err
		}
		if s, err = probe.ReadSubmission(f.world.Facts.ForkOf(), raw); err != nil {
			return nil, err
		}
	}
	p := s.ExecutionPayload
	s = &builderfulu.SubmitBlockRequest{ExecutionPayload: p, BlobsBundle: s.BlobsBundle,
		ExecutionRequests: s.ExecutionRequests, Message: &builderv1.BidTrace{
			Slot: uint64(at.Slot), ParentHash: p.ParentHash, BlockHash: p.BlockHash, BuilderPubkey: f.key.Public,
			ProposerPubkey: to.Pubkey, ProposerFeeRecipient: to.FeeRecipient, GasLimit: p.GasLimit, GasUsed: p.GasUsed,
			Value: value,
		}}
	f.first = cmp.Or(f.first, s)
	return s, nil
}
