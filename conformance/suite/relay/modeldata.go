package relay

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

const (
	// modelSlots is in how many slots a plan of the Data API has payloads delivered. Two of them
	// have one value, so that order_by has ties.
	modelSlots = 3
	// modelQueries is how many queries a plan asks of a list.
	modelQueries = 160
	// modelTries is how often a plan that shows a failure may be played again, to shorten it.
	modelTries = 12
)

// describeListModels: the lists of the Data API for random queries, against what the suite
// submitted and had delivered.
func describeListModels(r *specs) {
	names := []string{"slot", "cursor", "block_hash", "block_number", "builder_pubkey", "proposer_pubkey"}
	r.Slow("REL-MOD-01", "lists deliveries as filters, limits and orders ask, each to the wei", func(t *suite.T) {
		delivered, _ := r.trade(t, 1)
		m := listModel{path: deliveredPath, ours: delivered}
		judgeQueries(t, m, m.plan(t.Random, modelQueries, []string{names[0], names[2], names[3], names[4], names[5]},
			[]string{"value", "-value"}))
	})
	r.Slow("REL-MOD-02", "lists deliveries and received blocks as deployed relays do", func(t *suite.T) {
		delivered, received := r.trade(t, 3)
		m := listModel{path: deliveredPath, ours: delivered, deployed: true}
		judgeQueries(t, m, m.plan(t.Random, modelQueries, names, []string{"value", "-value"}))
		m = listModel{path: receivedPath, ours: received, deployed: true}
		judgeQueries(t, m, m.plan(t.Random, modelQueries, []string{names[0], names[2], names[3], names[4]}, nil))
	})
}

// trade has a number of blocks submitted in each of some slots, by two builders in turn, and the
// last one delivered, which has the highest value. It waits until the last of each is listed.
func (r *specs) trade(t *suite.T, blocks int) (delivered, received []traced) {
	keys := []*probe.BLSKey{probe.DeriveBLSKey(fmt.Sprint(t.Clause.ID, " ", t.Random.Uint64())),
		probe.DeriveBLSKey(fmt.Sprint(t.Clause.ID, " ", t.Random.Uint64()))}
	value := gwei(2000 + t.Random.Uint64N(1000))
	value.AddUint64(value, t.Random.Uint64N(1e9))
	for n := range modelSlots {
		if n == 1 { // the third slot has the value of the second
			value = new(uint256.Int).AddUint64(value, 1+t.Random.Uint64N(5))
		}
		a := r.openToPropose(t)
		for i := range blocks {
			s := a.blockFor(keys[(n+i)%len(keys)], new(uint256.Int).SubUint64(value, uint64(blocks-1-i)), 1-(n+i)%2)
			var answer *probe.Answer
			t.Ready(t.Eventually(news, func() error {
				if answer = a.prepare().submit(s); answer.Status == http.StatusOK {
					return nil
				}
				return errNotTaken
			}), "submit a valid block")
			one := s.traced()
			received = append(received, one)
			received[len(received)-1].fromMs = answer.SentAt.UnixMilli() - 1
			received[len(received)-1].toMs = answer.DoneAt.UnixMilli() + 1
			if i == blocks-1 {
				block := a.signBlind(a.makeBlinded(a.prepareServed(s)), a.proposer)
				t.Prepared(a.prepare().ask(payloadPath, block), "get the payload", http.StatusOK)
				delivered = append(delivered, one)
				query := "block_hash=" + s.Message.BlockHash.String()
				t.Ready(waitListed(t, deliveredPath, query), "see the delivery in the data API")
				t.Ready(waitListed(t, receivedPath, query), "see the received block")
			}
		}
	}
	return delivered, received
}

// blockFor makes a valid block of a builder who may also bid in other slots.
func (a *auction) blockFor(key *probe.BLSKey, valueWei *uint256.Int, blobs int) *submission {
	if !a.fork().HasBlobs() {
		blobs = 0
	}
	s := a.blockWith("model", valueWei, blobs, gasLimit)
	s.key, s.Message.BuilderPubkey = key, key.Public
	return s.sign()
}

// traced is what lists must say of the submission.
func (s *submission) traced() traced {
	m, p := s.Message, s.ExecutionPayload
	decimal := func(n uint64) string { return strconv.FormatUint(n, 10) }
	return traced{slot: m.Slot, valueWei: m.Value.Clone(), members: map[string]string{
		"slot": decimal(m.Slot), "parent_hash": m.ParentHash.String(), "block_hash": m.BlockHash.String(),
		"builder_pubkey": m.BuilderPubkey.String(), "proposer_pubkey": m.ProposerPubkey.String(),
		"proposer_fee_recipient": m.ProposerFeeRecipient.String(), "gas_limit": decimal(m.GasLimit),
		"gas_used": decimal(m.GasUsed), "value": m.Value.Dec(), "num_tx": strconv.Itoa(len(p.Transactions)),
		"block_number": decimal(p.BlockNumber),
	}}
}

// judgeQueries asks all queries of a plan, and fails the spec at the first answer that is not as
// predicted, with the fewest parameters that show it.
func judgeQueries(t *suite.T, m listModel, plan [][]parameter) {
	for _, query := range plan {
		suite.JudgePlan(t, query, modelTries, func(some []parameter) *suite.Mismatch {
			if m.path == receivedPath && filterClause(some) == "REL-CMB-05" {
				return nil // it answers no query without a filter
			}
			answer := t.Get(dataAPI(t), m.path+"?"+queryOf(some))
			wrong := wrongList("REL-DAT-23", "status 200 and a JSON array of objects", answer)
			var list []map[string]any
			if answer.Status == http.StatusOK && answer.JSON(&list) == nil {
				wrong = m.judge(some, list)
			}
			if wrong != nil { // the whole query is one request
				wrong.Step = len(some) - 1
			}
			return wrong
		})
	}
}
