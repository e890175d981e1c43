package app_test

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// askedPerSecond is how many requests for bids the relay is asked a second.
const askedPerSecond = 200

// BenchmarkBidsInGloas asks a relay over loopback 10,000 times for a bid, 200 times a second: how
// long answers take, and how many came after half a second, which is what beacon nodes wait. The
// first answer of a block is told by itself (first): it has the check of the proposer's signature
// and the relay's own signature in it.
func BenchmarkBidsInGloas(b *testing.B) {
	h := newRelayInGloas(b, nil)
	for b.Loop() {
		h.begunNext(b)
		h.taken(b, h.block(b, h.onGenesis(), 1000))
		r := h.wish(nil)
		began := time.Now()
		h.ask(b, r)
		first := time.Since(began)
		took := make([]time.Duration, 10_000)
		ticker := time.NewTicker(time.Second / askedPerSecond)
		var answered sync.WaitGroup
		for i := range took {
			<-ticker.C
			answered.Go(func() {
				began := time.Now()
				if got := h.ask(b, r); got.status != http.StatusOK {
					b.Errorf("no bid: %s", got)
				}
				took[i] = time.Since(began)
			})
		}
		answered.Wait()
		ticker.Stop()
		late := 0
		for _, one := range took {
			if one >= 500*time.Millisecond {
				late++
			}
		}
		slices.Sort(took)
		b.ReportMetric(inMs(took[len(took)/2]), "p50-ms")
		b.ReportMetric(inMs(took[len(took)*99/100]), "p99-ms")
		b.ReportMetric(inMs(first), "first-ms")
		b.ReportMetric(float64(late), "late")
	}
}

func inMs(d time.Duration) float64 { return d.Seconds() * 1000 }

// BenchmarkEnvelope is the time from the 202 for a proposer's block, which is the head at once, to
// the beacon node's acceptance of its envelope with six blobs.
func BenchmarkEnvelope(b *testing.B) {
	const trials = 200
	h := newRelayInGloas(b, nil)
	h.blobs = []int{0, 1, 2, 0, 1, 2} // proofs of more would take seconds to make
	for b.Loop() {
		took := make([]time.Duration, trials)
		for i := range took {
			m, _ := h.soldNext(b)
			raw, root := h.signedBlock(b, m, 1, h.proposer())
			if got := h.propose(b, raw); got.status != http.StatusAccepted {
				b.Fatalf("a good block: %s", got)
			}
			began := time.Now()
			h.isHead(root)
			h.wantEnvelope(b, root)
			took[i] = time.Since(began)
		}
		slices.Sort(took)
		b.ReportMetric(inMs(took[trials/2]), "p50-ms")
		b.ReportMetric(inMs(took[trials*99/100]), "p99-ms")
	}
}

// soldNext begins the auction of the next slot, and returns the bid that its proposer was given.
func (h *relayInGloas) soldNext(t testing.TB) (*gloas.ExecutionPayloadBid, *gloas.SignedBidSubmissionV6) {
	t.Helper()
	h.clock.Set(h.spec.SlotStart(h.slot + 1).Add(-time.Second))
	h.begunNext(t)
	s := h.block(t, h.onGenesis(), 1000)
	h.taken(t, s)
	m := h.bid(t, h.wish(nil))
	h.into(time.Second)
	return m, s
}

// BenchmarkEquivocations has 1,000 proposers sign two blocks with the relay's bid, and show them to
// the relay or to its beacon node in any order. An envelope is wrong if the relay could know both
// blocks before it has told of the payload, if it is for the block that is not the head, or if
// there are two.
func BenchmarkEquivocations(b *testing.B) {
	const trials = 1000
	h := newRelayInGloas(b, nil)
	random := rand.New(rand.NewPCG(1, 2))
	for b.Loop() {
		may := map[phase0.Root]bool{}
		revealed := map[phase0.Root]int{}
		for range trials {
			h.equivocate(b, random, may)
			h.collect(b, revealed)
		}
		for range 2 { // what was on its way has come
			h.soldNext(b)
		}
		h.collect(b, revealed)
		wrong := 0
		for root, envelopes := range revealed {
			if !may[root] || envelopes > 1 {
				wrong++
			}
		}
		if wrong > 0 {
			b.Errorf("%d envelopes are wrong", wrong)
		}
		b.ReportMetric(float64(wrong), "wrong")
		b.ReportMetric(float64(len(revealed)), "revealed")
	}
}

// collect counts the envelopes that have come, by their blocks.
func (h *relayInGloas) collect(t testing.TB, into map[phase0.Root]int) {
	t.Helper()
	for len(h.node.envelopes) > 0 {
		contents, err := gloas.Mainnet.EnvelopeContents.Decode(<-h.node.envelopes)
		must(t, err)
		into[contents.SignedExecutionPayloadEnvelope.Message.BeaconBlockRoot]++
	}
}

// equivocate runs one slot whose proposer signs two blocks. It notes the first one if its payload
// may be revealed: it was the head before the second one was shown to anybody.
func (h *relayInGloas) equivocate(t testing.TB, random *rand.Rand, may map[phase0.Root]bool) {
	t.Helper()
	m, _ := h.soldNext(t)
	first, root := h.signedBlock(t, m, 1, h.proposer())
	second, other := h.signedBlock(t, m, 2, h.proposer())
	show := func() {
		if random.IntN(2) == 0 {
			h.propose(t, second)
		} else {
			h.imported(other)
		}
	}
	steps := []func(){func() { h.propose(t, first) }, func() { h.isHead(root) }}
	at := random.IntN(3)
	for _, step := range slices.Insert(steps, at, show) {
		step()
	}
	may[root] = at == 2
	h.begunNext(t) // all of that has been heard
	h.slot--
}
