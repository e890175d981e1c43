package relay

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/suite"
)

// The model of an auction: what builders submit in random order, and which bid a proposer must be
// served at any moment between. It is sure of the leader's value. Of two bids of one value either
// may lead, since no specification says which.

// The kinds of what a step of an auction sends.
const (
	bidding      = "bids"                    // a right block
	cancelling   = "bids with cancellations" // a right block, which replaces the builder's earlier ones
	forging      = "forges"                  // a right block with a signature of somebody else
	overstating  = "overstates"              // a block that pays a wei less than its message says
	miscounting  = "miscounts"               // a message of another gas_used than its block's
	askingHeader = "the proposer asks"
)

// bidStep is one request of a plan: a submission, or getHeader.
type bidStep struct {
	kind     string
	builder  int
	valueWei uint64
}

// String implements fmt.Stringer.
func (s bidStep) String() string {
	if s.kind == askingHeader {
		return s.kind
	}
	return fmt.Sprintf("builder %c %s %d wei", 'A'+s.builder, s.kind, s.valueWei)
}

// isRight says whether the step's block must be taken.
func (s bidStep) isRight() bool { return s.kind == bidding || s.kind == cancelling }

// leading are the places of the steps whose bids may be served after the steps: those of the
// highest value in force. A builder's bids without cancellations all stay in force, of those with
// them the last one.
func leading(steps []bidStep) (places []int) {
	last := map[int]int{}
	for i, s := range steps {
		if s.kind == cancelling {
			last[s.builder] = i
		}
	}
	for i, s := range steps {
		if !s.isRight() || s.kind == cancelling && last[s.builder] != i {
			continue
		}
		switch {
		case len(places) == 0 || s.valueWei > steps[places[0]].valueWei:
			places = []int{i}
		case s.valueWei == steps[places[0]].valueWei:
			places = append(places, i)
		}
	}
	return places
}

// auctionClause is the clause that the last bid before place breaks, if the wrong one is served.
func auctionClause(steps []bidStep) string {
	for _, s := range slices.Backward(steps) {
		switch s.kind {
		case forging, overstating, miscounting:
			return "REL-SUB-32"
		case cancelling:
			return "REL-SUB-33"
		case bidding:
			return "REL-HDR-16"
		}
	}
	return "REL-HDR-03"
}

// auctionPlan makes a random plan. Binding plans have what specifications say: no cancellations,
// no two bids of one value, and no builder who bids less than before.
func auctionPlan(random *rand.Rand, steps int, binding bool) (plan []bidStep) {
	const builders = 4
	const unitWei = 1_000_000_000_000 // bids differ in units and in single wei
	best := map[int]uint64{}
	for len(plan) < steps {
		s := bidStep{kind: bidding, builder: random.IntN(builders)}
		s.valueWei = 10*unitWei + random.Uint64N(3)*unitWei + random.Uint64N(4)
		switch n := random.IntN(10); {
		case n < 3 && len(plan) > 0:
			s = bidStep{kind: askingHeader}
		case n < 5:
			s.kind = []string{forging, overstating, miscounting}[random.IntN(3)]
			s.valueWei += 20 * unitWei
		case !binding && s.builder > 0: // of a builder all bids are of one kind
			s.kind = cancelling
		}
		if binding && s.kind == bidding {
			s.valueWei = best[s.builder] + 1 + random.Uint64N(2)*unitWei + uint64(len(plan))
			s.valueWei = max(s.valueWei, (10+random.Uint64N(8))*unitWei+uint64(len(plan)))
			for slices.ContainsFunc(plan, func(other bidStep) bool { return other.valueWei == s.valueWei }) {
				s.valueWei++
			}
			best[s.builder] = s.valueWei
		}
		plan = append(plan, s)
	}
	return append(plan, bidStep{kind: askingHeader})
}

const (
	auctionSteps = 20
	auctionSlots = 3 // plans, each in a slot of its own
	// auctionTries is how many slots more a plan may take that shows a failure.
	auctionTries = 8
)

// describeAuctionModels: which bid is served at any moment of random auctions.
func describeAuctionModels(r *specs) {
	for _, row := range []struct {
		id, title string
		binding   bool
	}{
		{"REL-MOD-03", "serves the highest bid at each moment of random auctions", true},
		{"REL-MOD-04", "serves the highest bid in force at each moment, with cancellations and equal values", false},
	} {
		r.Slow(row.id, row.title, func(t *suite.T) {
			for range auctionSlots {
				plan := auctionPlan(t.Random, auctionSteps, row.binding)
				suite.JudgePlan(t, plan, auctionTries, func(steps []bidStep) *suite.Mismatch {
					return r.openAlone(t).play(steps)
				})
			}
		})
	}
}

// play does the steps in the auction's slot. A machine that is so slow that the slot begins before
// the plan is done plays a part of it.
func (a *auction) play(steps []bidStep) *suite.Mismatch {
	t := a.t
	blocks := make([]*submission, len(steps))
	asked := 0
	for i, s := range steps {
		var wrong *suite.Mismatch
		if s.kind == askingHeader {
			wrong = a.compareHeader(steps[:i], blocks)
		} else {
			blocks[i] = a.made(s)
			wrong = a.compareSubmission(s, blocks[i], !slices.ContainsFunc(steps[:i], bidStep.isRight))
		}
		switch {
		case t.Now().After(a.start()) && asked == 0:
			t.Inconclusive("the slot began before the proposer had asked for a header")
		case t.Now().After(a.start()):
			return nil
		case s.kind == askingHeader:
			asked++
		}
		if wrong != nil {
			wrong.Step = i
			return wrong
		}
	}
	return nil
}

// made makes the block of a step.
func (a *auction) made(s bidStep) *submission {
	value := uint256.NewInt(s.valueWei)
	block := a.block(fmt.Sprint(s.builder), value)
	switch s.kind {
	case forging:
		block.Signature = a.builderKey("nobody").Sign([32]byte{1})
	case overstating:
		block.Message.Value.AddUint64(block.Message.Value, 1)
		block.sign()
	case miscounting:
		block.Message.GasUsed++
		block.sign()
	}
	return block
}

// compareSubmission submits a block and compares the status. The first one may come before the
// relay knows of the slot.
func (a *auction) compareSubmission(s bidStep, block *submission, first bool) *suite.Mismatch {
	path, want := submitPath, []int{http.StatusBadRequest}
	switch {
	case s.isRight():
		want = []int{http.StatusOK, http.StatusAccepted}
	case s.kind == overstating: // what it pays may be found out after the answer
		want = []int{http.StatusBadRequest, http.StatusOK, http.StatusAccepted}
	}
	if s.kind == cancelling {
		path += "?cancellations=1"
	}
	request := post(path, jsonType, block.json())
	answer := a.t.Do(builderAPI(a.t), request)
	if first && s.isRight() {
		_ = a.t.Eventually(news, func() error {
			if slices.Contains(want, answer.Status) {
				return nil
			}
			answer = a.t.Do(builderAPI(a.t), request)
			return errNotTaken
		})
	}
	off := answer.Status == http.StatusBadRequest && bytes.Contains(answer.Body, []byte("cancellation"))
	if s.kind == cancelling && off {
		a.t.Unsupported("cancellations are off: %s", answer)
	}
	if slices.Contains(want, answer.Status) {
		return nil
	}
	clause := map[string]string{forging: "REL-SUB-04", overstating: "REL-SUB-16", miscounting: "REL-SUB-08",
		bidding: "REL-SUB-01", cancelling: "REL-SUB-21"}[s.kind]
	return &suite.Mismatch{Clauses: []string{clause}, Expected: fmt.Sprintf("one of %v", want), Actual: answer}
}

// compareHeader asks for the header and compares the bid with that of the leader.
func (a *auction) compareHeader(before []bidStep, blocks []*submission) *suite.Mismatch {
	may := leading(before)
	answer := a.header(jsonType)
	wrong := &suite.Mismatch{Clauses: []string{auctionClause(before)}, Expected: "no bid, 204", Actual: answer}
	if len(may) == 0 {
		if answer.Status == http.StatusNoContent && len(answer.Body) == 0 {
			return nil
		}
		return wrong
	}
	wrong.Expected = fmt.Sprintf("the bid of step %d", may[0]+1)
	if answer.Status != http.StatusOK {
		return wrong
	}
	bid := a.readBid(answer).Message
	for _, i := range may {
		if bid.Header.BlockHash == blocks[i].Message.BlockHash {
			if bid.Value.Eq(blocks[i].Message.Value) {
				return nil
			}
			wrong.Clauses, wrong.Expected = []string{"REL-HDR-14"}, "the value "+blocks[i].Message.Value.Dec()
		}
	}
	wrong.Actual = fmt.Sprintf("block %s at %s wei", bid.Header.BlockHash, bid.Value.Dec())
	for i, block := range blocks {
		if block != nil && block.Message.BlockHash == bid.Header.BlockHash {
			wrong.Actual = fmt.Sprintf("that of step %d at %s wei", i+1, bid.Value.Dec())
		}
	}
	return wrong
}
