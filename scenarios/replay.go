package scenarios

// Replay runs the auctions of a recorded run again, in the relay's pure auction package, from the
// facts alone. It uses no clock and makes no requests, so the same facts always give the same
// leading bids, and another rule for auctions can be tried on a recorded day.
//
//	facts.ndjson ─submission_judged, builder_demoted─▶ auction.Book of (relay, slot, parent, proposer) ─▶ who leads after each

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/auction"
)

// TopChange is a change of the leading bid.
type TopChange struct {
	// Seq is the number of the fact that caused it.
	Seq   int         `json:"seq"`
	Relay string      `json:"relay"`
	Slot  phase0.Slot `json:"slot,string"`
	// BlockHash is zero if no bid leads any more. Builder is the builder's name in the run.
	BlockHash phase0.Hash32 `json:"block_hash"`
	Builder   string        `json:"builder"`
	ValueWei  string        `json:"value_wei"`
}

// Replay returns every change of a leading bid, in the order of the facts.
func Replay(facts []Record) ([]TopChange, error) {
	r := replaying{books: map[string]*auction.Books{}, names: map[phase0.Hash32]string{}, valid: map[phase0.Hash32]bool{}}
	for _, fact := range facts {
		var err error
		switch fact.Subject {
		case SubmissionJudged:
			err = r.noteJudged(fact)
		case BuilderDemoted:
			err = r.noteDemoted(fact)
		case "submission_executed":
			err = r.noteExecuted(fact)
		}
		if err != nil {
			return nil, fmt.Errorf("replay fact %d: %w", fact.Seq, err)
		}
	}
	return r.tops, nil
}

type replaying struct {
	books map[string]*auction.Books // by relay
	names map[phase0.Hash32]string  // builders by block hash
	valid map[phase0.Hash32]bool    // blocks that were executed and found valid
	tops  []TopChange
}

func (r *replaying) of(relayName string) *auction.Books {
	if r.books[relayName] == nil {
		r.books[relayName] = &auction.Books{}
	}
	return r.books[relayName]
}

// noteJudged enters a bid that counts. A bid that does not count is entered only if it is kept and
// can replace an earlier bid of its builder.
func (r *replaying) noteJudged(fact Record) error {
	var f relay.SubmissionJudged
	if err := json.Unmarshal(fact.Fact, &f); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	key := relay.Key{Slot: f.Slot, ParentHash: f.ParentHash, Proposer: f.Proposer}
	bid := relay.Bid{
		Builder: f.Builder, BlockHash: f.BlockHash, ValueWei: f.ValueWei, ReceivedAt: f.ReceivedAt,
		Cancellable: f.Cancellable, Sequence: f.Sequence,
	}
	r.names[f.BlockHash] = fact.About
	r.valid[f.BlockHash] = r.valid[f.BlockHash] || f.Verified
	book := r.of(fact.Actor).Of(key)
	switch {
	case fact.Counts:
		r.note(fact, key, book.Submit(bid))
	case f.Refusal == "" && (f.Cancellable || f.Sequence > 0):
		r.note(fact, key, book.SubmitUnverified(bid))
	}
	return nil
}

func (r *replaying) note(fact Record, key relay.Key, outcome auction.Outcome) {
	if !outcome.Changed {
		return
	}
	top := TopChange{Seq: fact.Seq, Relay: fact.Actor, Slot: key.Slot, ValueWei: "0"}
	if outcome.Top != nil {
		top.BlockHash, top.Builder, top.ValueWei = outcome.Top.BlockHash, r.names[outcome.Top.BlockHash],
			outcome.Top.ValueWei.Dec()
	}
	r.tops = append(r.tops, top)
}

// noteExecuted remembers a block that was found valid after its bid counted.
func (r *replaying) noteExecuted(fact Record) error {
	var f relay.SubmissionExecuted
	if err := json.Unmarshal(fact.Fact, &f); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	if f.Class == "valid" {
		r.valid[f.BlockHash] = true
	}
	return nil
}

// noteDemoted withdraws the bids of a builder whose blocks no execution has found valid.
func (r *replaying) noteDemoted(fact Record) error {
	var f relay.BuilderDemoted
	if err := json.Unmarshal(fact.Fact, &f); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	books := maps.Collect(r.of(fact.Actor).All())
	keys := slices.SortedFunc(maps.Keys(books), func(a, b relay.Key) int {
		return cmp.Or(cmp.Compare(a.Slot, b.Slot), bytes.Compare(a.ParentHash[:], b.ParentHash[:]),
			bytes.Compare(a.Proposer[:], b.Proposer[:]))
	})
	for _, key := range keys {
		r.note(fact, key, books[key].Withdraw(f.Builder, func(bid relay.Bid) bool { return !r.valid[bid.BlockHash] }))
	}
	return nil
}
