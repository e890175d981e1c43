package relay

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// fault is one thing that is wrong with a request for a bid, and the statuses that are right for
// it.
type fault struct {
	clause, title string
	change        func(*request)
	statuses      []int
}

// faultsOfRequests are the things that can be wrong with a request whose proposer and slot are
// right.
func faultsOfRequests() []fault {
	const bad = http.StatusBadRequest
	header := func(name, value string) func(*request) { return func(q *request) { q.Header[name] = value } }
	data := func(change func([]byte) []byte) func(*request) {
		return func(q *request) {
			q.auth.Message.Data = change(q.auth.Message.Data)
			q.sign()
		}
	}
	return []fault{
		{"GLO-BID-11", "refuses a request without a body", func(q *request) { q.Body = []byte{} }, []int{bad}},
		{"GLO-BID-11", "refuses JSON that is no auth", func(q *request) { q.Body = []byte(`{"message":{}}`) }, []int{bad}},
		{"GLO-BID-11", "refuses JSON that is cut", func(q *request) { q.Body = q.json()[:40] }, []int{bad}},
		{"GLO-BID-11", "refuses SSZ with a byte too few", func(q *request) {
			q.Header["Content-Type"], q.Body = sszType, q.ssz()[:80]
		}, []int{bad}},
		{"GLO-BID-11", "refuses a request that names no fork", header("Eth-Consensus-Version", ""), []int{bad}},
		{"GLO-BID-11", "refuses a request that names another fork", header("Eth-Consensus-Version", "fulu"), []int{bad}},
		{"GLO-BID-11", "refuses a request that names an unknown fork", header("Eth-Consensus-Version", "xyz"), []int{bad}},
		{"GLO-BID-11", "refuses another content type", header("Content-Type", "text/html"),
			[]int{http.StatusUnsupportedMediaType}},
		{"GLO-BID-11", "refuses an Accept that it cannot keep", header("Accept", "text/html"),
			[]int{http.StatusNotAcceptable}},
		{"GLO-BID-12", "refuses a request without Date-Milliseconds", header("Date-Milliseconds", ""), []int{bad}},
		{"GLO-BID-12", "refuses a Date-Milliseconds that is no number", header("Date-Milliseconds", "now"), []int{bad}},
		{"GLO-BID-12", "refuses a request without X-Timeout-Ms", header("X-Timeout-Ms", ""), []int{bad}},
		{"GLO-BID-12", "refuses an X-Timeout-Ms that is no number", header("X-Timeout-Ms", "1s"), []int{bad}},
		{"GLO-BID-13", "refuses the data of another builder",
			data(func([]byte) []byte { return []byte("builder.example.com") }), []int{bad}},
		{"GLO-BID-13", "refuses its data with a byte more", data(func(own []byte) []byte { return append(own, '/') }),
			[]int{bad}},
		{"GLO-BID-13", "refuses its data with a byte less", data(func(own []byte) []byte { return own[:len(own)-1] }),
			[]int{bad}},
		{"GLO-BID-13", "refuses empty data", data(func([]byte) []byte { return nil }), []int{bad}},
		{"GLO-BID-14", "refuses an auth for the slot before", func(q *request) {
			q.auth.Message.Slot--
			q.sign()
		}, []int{bad}},
		{"GLO-BID-14", "refuses an auth for the slot after", func(q *request) {
			q.auth.Message.Slot++
			q.sign()
		}, []int{bad}},
		{"GLO-BID-15", "refuses the signature of another key", func(q *request) {
			q.key = probe.DeriveBLSKey("somebody else")
			q.sign()
		}, []int{http.StatusUnauthorized}},
		{"GLO-BID-15", "refuses a signature under the builder domain of the forks before", func(q *request) {
			q.signUnder(builderDomain(q.a.t.World.Facts))
		}, []int{http.StatusUnauthorized}},
		{"GLO-BID-15", "refuses a signature under the domain of the slot's fork", func(q *request) {
			q.signUnder(q.a.domain(probe.DomainBuilderRequestAuth))
		}, []int{http.StatusUnauthorized}},
		{"GLO-BID-15", "refuses a signature with a bit changed", func(q *request) { q.auth.Signature[7] ^= 2 },
			[]int{http.StatusUnauthorized}},
	}
}

func (r *request) json() []byte {
	raw, err := gloas.Mainnet.SignedBuilderRequestAuth.ToJSON(r.auth)
	r.a.t.Ready(err, "encode an auth")
	return raw
}

func (r *request) ssz() []byte {
	raw, err := gloas.Mainnet.SignedBuilderRequestAuth.Encode(r.auth)
	r.a.t.Ready(err, "encode an auth")
	return raw
}

// checkNoBid fails the spec unless an answer says that there is no bid.
func checkNoBid(t *suite.T, answer *probe.Answer) {
	t.Status(answer, http.StatusNoContent)
	t.Check(len(answer.Body) == 0, "no body", answer)
}

// describeBidRequests adds specs about requests for a bid of gloas. Each of them also gets the bid
// for the right request, so that a refusal is for what is wrong.
func describeBidRequests(r *specs) {
	for _, f := range faultsOfRequests() {
		r.It(f.clause, f.title, func(t *suite.T) {
			a := r.openGloas(t, world.Wanted{})
			o := a.prepareOffered(a.offer("a", gwei(1000)))
			a.prepareSold(o)
			ask := a.askFor()
			f.change(ask)
			t.Status(ask.send(), f.statuses...)
			a.checkSold(o)
		})
	}
	r.It("GLO-BID-10", "has no bid where nobody has built", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{Alone: true})
		checkNoBid(t, a.askFor().send())
		a.checkSold(a.prepareOffered(a.offer("a", gwei(1000))))
	})
	r.It("GLO-BID-11", "takes the auth in SSZ, too", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{})
		o := a.prepareOffered(a.offer("a", gwei(1000)))
		ask := a.askFor()
		ask.Header["Content-Type"], ask.Body = sszType, ask.ssz()
		answer := ask.send()
		t.Status(answer, http.StatusOK)
		t.Check(a.readSold(answer).Message.BlockHash == o.Message.BlockHash, "the bid for the submitted block", answer)
	})
	r.It("GLO-BID-16", "answers before the proposer stops waiting", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{})
		a.prepareSold(a.prepareOffered(a.offer("a", gwei(1000))))
		ask := a.askFor()
		due := t.Now().Add(time.Second)
		answer := ask.send()
		t.Status(answer, http.StatusOK)
		t.Check(answer.DoneAt.Before(due), "an answer within the second of X-Timeout-Ms", answer.DoneAt.Sub(due))
	})
	r.It("GLO-BID-21", "gives no bid to a proposer that does not wait any more", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{})
		o := a.prepareOffered(a.offer("a", gwei(1000)))
		ask := a.askFor()
		ask.Header["Date-Milliseconds"] = strconv.FormatInt(t.Now().Add(-5*time.Second).UnixMilli(), 10)
		checkNoBid(t, ask.send())
		a.checkSold(o)
	})
	r.It("GLO-BID-17", "has no bid for a key that does not propose", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{})
		o := a.prepareOffered(a.offer("a", gwei(1000)))
		other := a
		proposes := *a.auction
		proposes.proposer = r.validators(t)[(int(a.slot.ValidatorIndex)+1)%len(r.validators(t))]
		other.auction = &proposes
		checkNoBid(t, other.askFor().send())
		a.checkSold(o)
	})
	r.It("GLO-BID-18", "has no bid for a parent root that the parent hash does not belong to", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{})
		o := a.prepareOffered(a.offer("a", gwei(1000)))
		ask := a.askFor()
		root := a.slot.ParentRoot
		root[5] ^= 1
		ask.Path = a.bidPath(a.slot.ParentHash, root)
		t.Status(ask.send(), http.StatusNoContent, http.StatusBadRequest)
		a.checkSold(o)
	})
	r.It("GLO-BID-19", "bids on the parent without its payload, and only there", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{Empty: true})
		o := a.prepareOffered(a.offer("a", gwei(1000)))
		bid := a.checkSold(o).Message
		t.Check(bid.ParentBlockHash == a.slot.ParentHash, "the hash of the payload before", bid.ParentBlockHash)
		ask := a.askFor()
		ask.Path = a.bidPath(a.slot.Withheld, a.slot.ParentRoot)
		t.Status(ask.send(), http.StatusNoContent, http.StatusBadRequest)
	})
	r.It("GLO-BID-20", "has no header for a slot of the fork", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{})
		o := a.prepareOffered(a.offer("a", gwei(1000)))
		t.Status(a.header(jsonType), http.StatusNoContent, http.StatusBadRequest)
		a.checkSold(o)
	})
	r.It("GLO-BID-22", "has no bid for a proposer that has told no preferences", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{Kind: world.Stranger})
		t.Prepared(a.prepare().sendBlock(a.offer("a", gwei(1000))), "submit for nobody", http.StatusBadRequest)
		checkNoBid(t, a.askFor().send())
	})
	r.It("GLO-STA-01", "answers 200 to GET of the status", func(t *suite.T) {
		t.Status(t.Get(proposerAPI(t), "/eth/v1/builder/status"), http.StatusOK)
	})
}

// describeCaps adds specs about POST /eth/v1/builder/builder_preferences/….
func describeCaps(r *specs) {
	r.It("GLO-PRF-01", "takes preferences in JSON and SSZ", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{Alone: true})
		t.Status(a.capAt(1_000_000_000).send(), http.StatusAccepted)
		in := a.capAt(1_000_000_000)
		in.inSSZ = true
		t.Status(in.send(), http.StatusAccepted)
	})
	r.It("GLO-PRF-01", "goes by the last preferences of a slot", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{Alone: true})
		high := a.prepareOffered(a.offer("a", gwei(5000)))
		t.Status(a.capAt(4000).send(), http.StatusAccepted)
		a.checkNotSold(high)
		t.Status(a.capAt(6000).send(), http.StatusAccepted)
		a.checkSold(high)
	})
	for _, row := range []struct {
		title  string
		change func(*capped)
		status int
	}{
		{"refuses preferences with another data", func(c *capped) { c.auth.Message.Data = []byte("other.example.com") },
			http.StatusBadRequest},
		{"refuses preferences for a slot that is over", func(c *capped) { c.auth.Message.Slot -= 2 }, http.StatusBadRequest},
		{"refuses preferences that name another fork", func(c *capped) { c.fork = eth.Fulu.String() },
			http.StatusBadRequest},
		{"refuses preferences that name no fork", func(c *capped) { c.fork = "" }, http.StatusBadRequest},
		{"refuses preferences that somebody else has signed",
			func(c *capped) { c.key = probe.DeriveBLSKey("somebody else") }, http.StatusUnauthorized},
	} {
		r.It("GLO-PRF-02", row.title+", and keeps the old ones", func(t *suite.T) {
			a := r.openGloas(t, world.Wanted{Alone: true})
			t.Prepared(a.capAt(3000).send(), "tell preferences", http.StatusAccepted)
			low, high := a.prepareOffered(a.offer("a", gwei(2000))), a.prepareOffered(a.offer("b", gwei(5000)))
			a.prepareSold(low)
			wrong := a.capAt(9000)
			row.change(wrong)
			t.Status(wrong.send(), row.status)
			a.checkNotSold(high)
			t.Status(a.capAt(9000).send(), http.StatusAccepted) // as it was, it is right
			a.checkSold(high)
		})
	}
	r.It("GLO-PRF-02", "refuses preferences that are cut", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{})
		t.Status(t.Do(proposerAPI(t), versioned(a.capPath(), jsonType, eth.Gloas.String(), []byte(`{"preferences":`))),
			http.StatusBadRequest)
	})
	r.It("GLO-PRF-03", "promises nothing within the payload to a proposer that counts none of it", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{Alone: true})
		a.prepareOffered(a.offer("a", gwei(1000)))
		t.Status(a.capAt(0).send(), http.StatusAccepted)
		if bid := a.sold(); bid != nil {
			t.Check(bid.Message.ExecutionPayment == 0, "an execution_payment of 0, or no bid", bid.Message.ExecutionPayment)
		}
	})
	r.It("GLO-PRF-04", "may promise any payment to a proposer that has not told what it counts", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{Alone: true})
		a.checkSold(a.prepareOffered(a.offer("a", gwei(50_000))))
	})
	r.It("GLO-BID-07", "bids with the best block under the proposer's cap", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{Alone: true})
		low, high := a.prepareOffered(a.offer("a", gwei(2000))), a.prepareOffered(a.offer("b", gwei(3000)))
		a.prepareSold(high)
		t.Prepared(a.capAt(high.totalGwei()-1).send(), "tell preferences", http.StatusAccepted)
		bid := a.checkSold(low).Message
		t.Check(bid.ExecutionPayment < high.totalGwei(), "an execution_payment up to the cap", bid.ExecutionPayment)
		t.Prepared(a.capAt(high.totalGwei()).send(), "tell preferences", http.StatusAccepted)
		a.checkSold(high)
	})
}

// capped is a proposer's word on what it counts of a payment within the payload. A spec may make it
// wrong before it is sent.
type capped struct {
	*request

	most  phase0.Gwei
	fork  string
	inSSZ bool
}

func (a sale) capAt(most phase0.Gwei) *capped {
	return &capped{request: a.askFor(), most: most, fork: eth.Gloas.String()}
}

func (a sale) capPath() string {
	return fmt.Sprintf("/eth/v1/builder/builder_preferences/%#x", a.proposer.Public[:])
}

// send signs and sends the preferences as they are now.
func (c *capped) send() *probe.Answer {
	c.sign()
	t := c.a.t
	value := &gloas.BuilderPreferencesRequest{Preferences: &gloas.BuilderPreferences{MaxExecutionPayment: c.most},
		Auth: c.auth}
	encode, media := gloas.Mainnet.BuilderPreferencesRequest.ToJSON, jsonType
	if c.inSSZ {
		encode, media = gloas.Mainnet.BuilderPreferencesRequest.Encode, sszType
	}
	raw, err := encode(value)
	t.Ready(err, "encode preferences")
	return t.Do(proposerAPI(t), versioned(c.a.capPath(), media, c.fork, raw))
}
