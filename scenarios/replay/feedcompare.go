package replay

import (
	"context"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"time"

	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/scenarios/backtest"
)

// Difference is something in which a relay differs from the replay.
type Difference struct {
	What   string `json:"what"`
	Detail string `json:"detail"`
}

// The kinds of differences.
const (
	differsRefused   = "refused"
	differsHeader    = "header"
	differsSignature = "signature"
	differsDelivery  = "delivery"
	differsReceived  = "received-list"
	differsDelivered = "delivered-list"
	differsPaid      = "paid"
)

// Differences are all kinds of differences, for docs/replay.md.
var Differences = []struct{ What, Doc string }{
	{differsRefused, "the relay refuses a bid, or does not answer, before the proposer has asked: all blocks are valid"},
	{differsHeader, "the header is not that of the block that leads in the replay, or promises another value, or there " +
		"is none"},
	{differsSignature, "the header is not signed with the relay's key: the one in its URL, or else the one in the header"},
	{differsDelivery, "the relay does not publish the payload of its header"},
	{differsReceived, "`builder_blocks_received` lacks a bid that was answered with 200, or has one with another " +
		"builder or value, or one that nobody sent"},
	{differsDelivered, "`proposer_payload_delivered` is not exactly the delivered block with the value of its header"},
	{differsPaid, "the block on the chain pays the proposer another amount than the header promised"},
}

// mostLate is by what part of a slot the proposer may ask late in an auction that is judged.
const mostLate = 6

// listPatience is how long the relay's lists may lag behind.
const listPatience = 3 * time.Second

// compare compares what the relay has shown with the replay.
func (f *feeding) compare(ctx context.Context) (*Fed, error) {
	fed := newFed(f)
	if fed.TooLate = f.shown.late > time.Duration(f.world.Facts.SlotMs)*time.Millisecond/mostLate; fed.TooLate {
		return fed, nil // what a relay refuses then says nothing about it
	}
	f.compareRefusals(fed)
	f.compareHeader(fed)
	if err := f.compareReceived(ctx, fed); err != nil {
		return nil, err
	}
	return fed, f.compareDelivered(ctx, fed)
}

func (f *feeding) compareRefusals(fed *Fed) {
	for i := range f.all {
		if s := &f.all[i]; !s.asked && !s.accepted() {
			fed.differ(differsRefused, "bid %d of %s wei: %s", i, s.bid.ValueWei.Dec(), s.answer)
		}
	}
}

// leaders returns who may lead when the proposer asks. Bids of different builders may have met the
// relay in the order in which they were sent or in the one in which they were answered.
func (f *feeding) leaders() (all []*sent) {
	for _, of := range []func(*sent) time.Time{
		func(s *sent) time.Time { return s.sentAt }, func(s *sent) time.Time { return s.doneAt },
	} {
		before := f.order(of)
		bids := make([]relay.Bid, len(before))
		for i, s := range before {
			bids[i] = s.bid.Bid
			// the block of the world, and a time that says only what came first
			bids[i].BlockHash, bids[i].ReceivedAt = s.hash, time.UnixMicro(int64(i))
		}
		top := backtest.Leader(bids)
		if top == nil {
			continue
		}
		at := slices.IndexFunc(before, func(s *sent) bool {
			return s.hash == top.BlockHash && s.bid.Builder == top.Builder
		})
		if !slices.Contains(all, before[at]) {
			all = append(all, before[at])
		}
	}
	return all
}

func (f *feeding) compareHeader(fed *Fed) {
	leaders, header := f.leaders(), f.shown.header
	fed.SameWinner = f.isWinner(header)
	if len(leaders) > 0 {
		fed.ExpectedWei, fed.ExpectedBuilder = leaders[0].bid.ValueWei.Dec(), leaders[0].bid.Builder.String()
	}
	switch {
	case f.shown.err != nil:
		fed.differ(differsHeader, "%v", f.shown.err)
		return
	case header == nil && len(leaders) > 0:
		fed.differ(differsHeader, "there is none, and a bid of %s wei leads", fed.ExpectedWei)
		return
	case header == nil:
		return
	}
	fed.ServedWei = header.Message.Value.Dec()
	if err := f.checkSignature(header); err != nil {
		fed.differ(differsSignature, "%v", err)
	}
	if err := f.shown.delivered; err != nil {
		fed.differ(differsDelivery, "%v", err)
	}
	hash := header.Message.Header.BlockHash
	at := slices.IndexFunc(leaders, func(s *sent) bool { return s.hash == hash })
	switch {
	case at < 0 && !f.isSent(hash):
		fed.differ(differsHeader, "it is of block %s, which nobody sent", hash)
	case at < 0:
		fed.differ(differsHeader, "a bid of %s wei is served, and one of %s wei leads", fed.ServedWei, fed.ExpectedWei)
	case !leaders[at].bid.ValueWei.Eq(header.Message.Value):
		fed.differ(differsHeader, "it promises %s wei for the bid of %s wei", fed.ServedWei, leaders[at].bid.ValueWei.Dec())
	}
}

// isWinner says whether a header is of the bid that has won in the replay.
func (f *feeding) isWinner(header *builderelectra.SignedBuilderBid) bool {
	won := f.live.Winner
	if header == nil || won == nil {
		return header == nil && won == nil
	}
	return header.Message.Value.Eq(won.ValueWei) && slices.ContainsFunc(f.all, func(s sent) bool {
		return s.hash == header.Message.Header.BlockHash && s.bid.Builder == won.Builder && s.bid.BlockHash == won.BlockHash
	})
}

func (f *feeding) isSent(hash phase0.Hash32) bool {
	return slices.ContainsFunc(f.all, func(s sent) bool { return s.hash == hash })
}

// compareReceived compares the list of received bids, once it has all that it must have.
func (f *feeding) compareReceived(ctx context.Context, fed *Fed) error {
	missing := map[trace]bool{}
	var builders []phase0.BLSPubKey
	for i := range f.all {
		s := &f.all[i]
		if s.status == http.StatusOK {
			missing[s.trace()] = true
		}
		if !slices.Contains(builders, s.key.Public) {
			builders = append(builders, s.key.Public)
		}
	}
	var rows []trace
	err := f.poll(ctx, func() (done bool, err error) {
		if rows, err = f.received(ctx, builders); err != nil {
			return false, err
		}
		for _, row := range rows {
			delete(missing, row)
		}
		return len(missing) == 0, nil
	})
	if err != nil {
		return err
	}
	fed.Listed = len(rows)
	known := map[trace]bool{}
	for i := range f.all {
		row := f.all[i].trace()
		if known[row] = true; missing[row] {
			fed.differ(differsReceived, "it lacks block %s of %s wei", row.Block, row.Value)
		}
	}
	for _, row := range rows {
		if !known[row] {
			fed.differ(differsReceived, "it has block %s of %.12s… with %s wei, which was not sent so", row.Block, row.Builder,
				row.Value)
		}
	}
	return nil
}

// trace is how the Data API lists the bid.
func (s *sent) trace() trace {
	return trace{s.hash.String(), s.key.Public.String(), s.bid.ValueWei.Dec()}
}

// poll asks until the answer is whole, or the relay had long enough for it.
func (f *feeding) poll(ctx context.Context, ask func() (bool, error)) error {
	until := f.clock.Now().Add(listPatience)
	for {
		done, err := ask()
		if err != nil || done || f.clock.Now().After(until) {
			return err
		}
		if err := f.clock.Until(ctx, f.clock.Now().Add(5*pollEvery)); err != nil {
			return err
		}
	}
}

// compareDelivered compares the list of delivered payloads, and what the chain's block pays.
func (f *feeding) compareDelivered(ctx context.Context, fed *Fed) error {
	header := f.shown.header
	delivered := header != nil && f.shown.delivered == nil
	var rows []trace
	err := f.poll(ctx, func() (done bool, err error) {
		rows, err = f.traces(ctx, "proposer_payload_delivered", url.Values{})
		return len(rows) > 0 || !delivered, err
	})
	if err != nil {
		return err
	}
	if !delivered {
		if len(rows) > 0 {
			fed.differ(differsDelivered, "it has block %s, and no payload was delivered", rows[0].Block)
		}
		return nil
	}
	fed.Delivered = true
	f.compareTraces(fed, rows, header)
	return f.comparePaid(ctx, fed, header)
}

func (f *feeding) compareTraces(fed *Fed, rows []trace, header *builderelectra.SignedBuilderBid) {
	hash, value := header.Message.Header.BlockHash, header.Message.Value.Dec()
	var keys []string
	for i := range f.all {
		if s := &f.all[i]; s.hash == hash {
			keys = append(keys, s.key.Public.String())
		}
	}
	if len(rows) != 1 || rows[0].Block != hash.String() || rows[0].Value != value ||
		!slices.Contains(keys, rows[0].Builder) {
		fed.differ(differsDelivered, "it has %v, and block %s of %s wei was delivered", rows, hash, value)
	}
}

func (f *feeding) comparePaid(ctx context.Context, fed *Fed, header *builderelectra.SignedBuilderBid) error {
	var paid *big.Int
	err := f.poll(ctx, func() (done bool, err error) {
		paid, err = f.paid(ctx, header.Message.Header.BlockNumber)
		return err == nil && paid.Sign() > 0, err
	})
	if err != nil {
		return err
	}
	amount, _ := uint256.FromBig(paid)
	if fed.PaidWei = amount.Dec(); !amount.Eq(header.Message.Value) {
		fed.differ(differsPaid, "%s wei, and the header promised %s", fed.PaidWei, header.Message.Value.Dec())
	}
	return nil
}
