package beacon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/beacon/epbs"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/serve"
)

// maxBid bounds a builder's answer in bytes (consensus-specs, gossip of signed bids).
const maxBid = 196_932

// offer is a builder's bid with the URL that it came from; no URL for one of the network.
type offer struct {
	epbs.Offer
	url string
}

// askBuilders asks all builders of a configuration for a bid at once, and waits for them until
// their time is over. What they answer is checked; what is wrong is logged and left out.
func (b *Beacon) askBuilders(ctx context.Context, a attributes, entries []*gloas.BuilderEntry) (list []*offer) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	deadline := b.cfg.Clock.Now().Add(b.cfg.BuilderTimeout)
	answers := make([]*offer, len(entries))
	var group sync.WaitGroup
	for i, entry := range entries {
		group.Go(func() { // ends with the answer, or with the deadline below
			bid, err := b.askBuilder(ctx, a, entry)
			if err == nil && bid != nil {
				answers[i], err = b.judge(a, entry, bid)
			}
			if err != nil {
				b.log.Warn("no bid of a builder", "slot", a.slot, "url", entry.URL, "error", err)
			}
		})
	}
	go func() { // ends with this call
		if b.cfg.Clock.Until(ctx, deadline) == nil {
			cancel()
		}
	}()
	group.Wait()
	for _, answer := range answers {
		if answer != nil {
			list = append(list, answer)
		}
	}
	return list
}

// askBuilder asks one builder for a bid; nil without an error if it has none (builder-specs, gloas,
// getExecutionPayloadBid).
func (b *Beacon) askBuilder(ctx context.Context, a attributes,
	entry *gloas.BuilderEntry) (*gloas.SignedExecutionPayloadBid, error) {
	body, err := gloas.Mainnet.SignedBuilderRequestAuth.Encode(entry.Auth)
	if err != nil {
		return nil, fmt.Errorf("encode auth: %w", err)
	}
	_, pubkey := b.Duty(a.slot)
	url := fmt.Sprintf("%s/eth/v1/builder/execution_payload_bid/%d/%#x/%#x/%#x", strings.TrimSuffix(entry.URL, "/"),
		a.slot, a.parentHash[:], a.parent.Root[:], pubkey[:])
	status, header, answer, err := askAt(ctx, url, http.Header{
		"Accept": {mediaSSZ}, "Date-Milliseconds": {strconv.FormatInt(b.cfg.Clock.Now().UnixMilli(), 10)},
		"X-Timeout-Ms": {strconv.FormatInt(b.cfg.BuilderTimeout.Milliseconds(), 10)},
	}, body)
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusNoContent:
		return nil, nil
	case status != http.StatusOK:
		if b.cfg.BidRefused != nil {
			b.cfg.BidRefused(a.slot, entry.URL, status, header.Get("X-Refusal"))
		}
		return nil, fmt.Errorf("status %d: %.200s", status, answer)
	}
	bid, err := gloas.Mainnet.SignedExecutionPayloadBid.Decode(answer)
	if err != nil {
		return nil, fmt.Errorf("decode bid: %w", err)
	}
	return bid, nil
}

// askAt posts a body of gloas in SSZ.
func askAt(ctx context.Context, url string, header http.Header, body []byte) (int, http.Header, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, fmt.Errorf("make request: %w", err)
	}
	request.Header = header
	header.Set("Content-Type", mediaSSZ)
	header.Set(versionHeader, eth.Gloas.String())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("ask builder: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxBid))
	if err != nil {
		return 0, nil, nil, fmt.Errorf("read answer: %w", err)
	}
	return response.StatusCode, response.Header, answer, nil
}

// judge checks that a bid of the Builder API can stand in the block: it is what the proposer has
// asked for, and its builder may bid, can pay and has signed.
func (b *Beacon) judge(a attributes, entry *gloas.BuilderEntry,
	signed *gloas.SignedExecutionPayloadBid) (*offer, error) {
	bid := signed.Message
	switch {
	case bid.FeeRecipient != a.feeRecipient:
		return nil, fmt.Errorf("fee recipient %#x, want %#x", bid.FeeRecipient[:], a.feeRecipient[:])
	case bid.BuilderIndex == gloas.SelfBuild:
		return nil, fmt.Errorf("it is of no builder")
	}
	b.mu.RLock()
	limit, known := b.gasLimitOf(a.parent, bid.ParentBlockHash)
	state, err := b.stateWith(a, signed)
	b.mu.RUnlock()
	switch {
	case err != nil:
		return nil, err
	case known && bid.GasLimit != eth.ExpectedGasLimit(limit, a.gasTarget):
		return nil, fmt.Errorf("gas limit %d, want %d", bid.GasLimit, eth.ExpectedGasLimit(limit, a.gasTarget))
	}
	return &offer{url: entry.URL, Offer: epbs.Offer{
		Bid: signed, MaxExecutionPayment: entry.MaxExecutionPayment, MinBid: entry.MinBid, Boost: entry.BuilderBoostFactor,
		Pubkeys: entry.BuilderPubkeys, Pubkey: state.Builders[bid.BuilderIndex].Pubkey,
	}}, nil
}

// stateWith returns the state after a block with a bid, or an error if no block can have it. The
// caller holds mu.
func (b *Beacon) stateWith(a attributes, bid *gloas.SignedExecutionPayloadBid) (*epbs.State, error) {
	before, err := b.stateAt(a.parent)
	if err != nil {
		return nil, err
	}
	return before.Block(b.rules(), &epbs.Block{
		Slot: a.slot, Proposer: a.proposer, ParentRoot: a.parent.Root, PrevRandao: phase0.Root(a.parent.randao), Bid: bid,
		ParentRequests: b.requestsOf(a.parent, a.status), FinalEpoch: b.finalEpoch(b.cfg.Spec.EpochOf(a.slot)),
	})
}

// forwardBlock hands a proposer's block to the builder whose bid it has (beacon-APIs,
// publishBlockV2, Eth-Builder-Url). Only builders are asked that a proposer has named.
func (b *Beacon) forwardBlock(ctx context.Context, url string, s *signedBlock) {
	b.mu.RLock()
	named := b.market.urls[url]
	b.mu.RUnlock()
	if !named {
		b.log.Warn("a block is not forwarded: no proposer has named the builder", "slot", s.slot, "url", url)
		return
	}
	raw, err := s.block.MarshalSSZ()
	if err == nil {
		var status int
		var answer []byte
		status, _, answer, err = askAt(ctx, strings.TrimSuffix(url, "/")+"/eth/v1/builder/beacon_blocks", http.Header{}, raw)
		if err == nil && status != http.StatusAccepted {
			err = fmt.Errorf("status %d: %.200s", status, answer)
		}
	}
	if err != nil {
		b.log.Warn("forward block to its builder", "slot", s.slot, "url", url, "error", err)
	}
}

// forwardPreferences hands on what proposers want of builders (beacon-APIs,
// submitBuilderPreferences).
func (b *Beacon) forwardPreferences(w http.ResponseWriter, r *http.Request) {
	list, err := readList(w, r, gloas.Mainnet.BuilderPreferencesEntry.FromJSON)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	for i, entry := range list {
		body, err := gloas.Mainnet.BuilderPreferencesRequest.Encode(&gloas.BuilderPreferencesRequest{
			Preferences: &gloas.BuilderPreferences{MaxExecutionPayment: entry.MaxExecutionPayment}, Auth: entry.Auth,
		})
		if err != nil {
			serve.Refuse(w, r, bad("entry %d: %v", i, err))
			return
		}
		url := fmt.Sprintf("%s/eth/v1/builder/builder_preferences/%#x", strings.TrimSuffix(entry.URL, "/"),
			entry.ProposerPubkey[:])
		status, _, answer, err := askAt(r.Context(), url, http.Header{}, body)
		if err != nil || status != http.StatusAccepted {
			b.log.Warn("hand on builder preferences", "url", entry.URL, "status", status, "answer", string(answer), "error", err)
		}
	}
	w.WriteHeader(http.StatusOK)
}
