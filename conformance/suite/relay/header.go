package relay

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth"
)

// bareNumber matches members of JSON whose value is a number and not text.
var bareNumber = regexp.MustCompile(`":\s*-?[0-9]`)

// clockMargin is how far the clocks of suite and target may differ.
const clockMargin = 100 * time.Millisecond

// describeHeader adds specs about GET /eth/v1/builder/header/{slot}/{parent_hash}/{pubkey}.
func describeHeader(r *specs) {
	// leading makes an auction with one submitted bid.
	leading := func(t *suite.T) (*auction, *submission) {
		a := r.open(t)
		return a, a.prepareSubmitted(a.block("a", gwei(1000)))
	}
	r.It("REL-HDR-01", "signs the bid with its key", func(t *suite.T) {
		a, s := leading(t)
		bid := a.checkServed(s)
		root, err := probe.BidRoot(a.fork(), bid.Message)
		t.Ready(err, "hash a bid")
		err = probe.VerifyBLS(bid.Message.Pubkey, probe.SigningRoot(root, builderDomain(t.World.Facts)), bid.Signature)
		t.Check(err == nil, "a bid that is signed by the key in it, over the builder domain", err)
		if key := t.Target.Relay.PublicKey; key != "" {
			t.Check(strings.EqualFold(fmt.Sprintf("%#x", bid.Message.Pubkey[:]), key), "the relay's key "+key,
				bid.Message.Pubkey)
		}
		t.Check(bid.Message.Pubkey != s.Message.BuilderPubkey, "the relay's key", "the builder's")
	})
	r.It("REL-HDR-02", "names the fork", func(t *suite.T) {
		a, _ := leading(t)
		answer := a.prepare().header(jsonType)
		t.Prepared(answer, "get a header", http.StatusOK)
		var envelope struct {
			Version string `json:"version"`
		}
		err := answer.JSON(&envelope)
		t.Check(err == nil && envelope.Version == a.fork().String(), "version "+a.fork().String(), answer)
	})
	r.It("REL-HDR-29", "names the fork in a header, too", func(t *suite.T) {
		a, _ := leading(t)
		answer := a.prepare().header(jsonType)
		t.Prepared(answer, "get a header", http.StatusOK)
		named := answer.Header.Get("Eth-Consensus-Version")
		t.Check(named == a.fork().String(), "Eth-Consensus-Version "+a.fork().String(), strconv.Quote(named))
	})
	r.It("REL-HDR-28", "serves the bid when the slot begins", func(t *suite.T) {
		a := r.openToPropose(t) // nobody proposes a block, which would end the auction
		s := a.prepareSubmitted(a.block("a", gwei(1000)))
		t.Until(a.start().Add(clockMargin / 2))
		a.checkServed(s)
	})
	r.It("REL-HDR-03", "answers 204 without a bid", func(t *suite.T) {
		answer := r.openAlone(t).header(jsonType)
		t.Status(answer, http.StatusNoContent)
		t.Check(len(answer.Body) == 0, "no body", answer)
	})
	for _, row := range []struct{ id, title, path string }{
		{"REL-HDR-04", "refuses a slot of letters", "abc/" + zeroHash + "/" + someKey},
		{"REL-HDR-04", "refuses a slot beyond 64 bits", "18446744073709551616/" + zeroHash + "/" + someKey},
		{"REL-HDR-05", "refuses a hash of 31 bytes", "1/" + zeroHash[:64] + "/" + someKey},
		{"REL-HDR-05", "refuses a hash of other letters", "1/0x" + strings.Repeat("zz", 32) + "/" + someKey},
		{"REL-HDR-06", "refuses a key of 47 bytes", "1/" + zeroHash + "/" + someKey[:96]},
		{"REL-HDR-06", "refuses a key of 49 bytes", "1/" + zeroHash + "/" + someKey + "00"},
	} {
		r.It(row.id, row.title, func(t *suite.T) {
			answer := t.Get(proposerAPI(t), "/eth/v1/builder/header/"+row.path)
			t.Status(answer, http.StatusBadRequest, http.StatusNotFound)
			if answer.Status == http.StatusNotFound {
				if right := t.Get(proposerAPI(t), "/eth/v1/builder/header/1/"+zeroHash+"/"+someKey); right.Status ==
					http.StatusNotFound {
					t.Inconclusive("the same path without the mistake is answered with 404, too")
				}
				t.Lenient("404 in place of 400")
			} else {
				checkRefusal(t, answer)
			}
		})
	}
	// A slot that is over is refused whatever stands behind it, so these ask while there is a bid.
	for _, row := range []struct {
		id, title string
		change    func(path string) string
	}{
		{"REL-HDR-04", "refuses a slot in hexadecimal for which there is a bid", func(path string) string {
			parts := strings.Split(path, "/")
			slot, _ := strconv.ParseUint(parts[5], 10, 64)
			parts[5] = fmt.Sprintf("%#x", slot)
			return strings.Join(parts, "/")
		}},
		{"REL-HDR-05", "refuses a hash of 33 bytes, of which the first 32 have a bid", func(path string) string {
			place := strings.LastIndex(path, "/")
			return path[:place] + "00" + path[place:]
		}},
		{"REL-HDR-06", "refuses a key of 49 bytes, of which the first 48 have a bid", func(path string) string {
			return path + "00"
		}},
	} {
		r.It(row.id, row.title, func(t *suite.T) {
			path := "/eth/v1/builder/header/1/" + zeroHash + "/" + someKey
			if t.World != nil {
				a, s := leading(t)
				a.prepareServed(s)
				path = a.headerPath()
			}
			t.Status(t.Get(proposerAPI(t), row.change(path)), http.StatusBadRequest, http.StatusNotFound)
		})
	}
	// elsewhere requests a bid under a path that is not its own, and fails the spec unless there is
	// none (204 or 400).
	elsewhere := func(t *suite.T, change func(a *auction)) {
		a, s := leading(t)
		a.prepareServed(s)
		other := *a
		change(&other)
		t.Status(other.header(jsonType), http.StatusNoContent, http.StatusBadRequest)
	}
	r.It("REL-HDR-07", "has no bid for another proposer", func(t *suite.T) {
		elsewhere(t, func(a *auction) {
			for _, key := range r.validators(t) {
				if key.Public != a.proposer.Public {
					a.proposer = key
				}
			}
		})
	})
	r.It("REL-HDR-07", "has no bid for a key that differs in its last byte", func(t *suite.T) {
		elsewhere(t, func(a *auction) {
			key := *a.proposer
			key.Public[len(key.Public)-1] ^= 1
			a.proposer = &key
		})
	})
	r.It("REL-HDR-08", "has no bid for another parent", func(t *suite.T) {
		elsewhere(t, func(a *auction) {
			slot := *a.slot
			slot.ParentHash[5] ^= 1
			a.slot = &slot
		})
	})
	r.It("REL-HDR-08", "has no bid for a parent that differs in its last byte", func(t *suite.T) {
		elsewhere(t, func(a *auction) {
			slot := *a.slot
			slot.ParentHash[31] ^= 1
			a.slot = &slot
		})
	})
	r.It("REL-HDR-08", "has no bid for another slot", func(t *suite.T) {
		elsewhere(t, func(a *auction) {
			slot := *a.slot
			slot.Slot += 2
			a.slot = &slot
		})
	})
	r.It("REL-HDR-09", "answers SSZ", func(t *suite.T) {
		a, s := leading(t)
		bid := a.readSSZ(a.header(sszType))
		t.Check(bid.Message.Header.BlockHash == s.Message.BlockHash, "the bid of the submitted block",
			bid.Message.Header.BlockHash)
	})
	r.It("REL-HDR-10", "answers 406 when nothing fits", func(t *suite.T) {
		t.Status(t.Do(proposerAPI(t), probe.Request{
			Method: http.MethodGet, Path: "/eth/v1/builder/header/1/" + zeroHash + "/" +
				someKey, Header: map[string]string{"Accept": "text/html"},
		}), http.StatusNotAcceptable)
	})
	r.It("REL-HDR-11", "sends what is preferred", func(t *suite.T) {
		a, _ := leading(t)
		for accept, want := range map[string]string{
			"application/octet-stream;q=1.0,application/json;q=0.9":  sszType,
			"application/json;q=1,application/octet-stream;q=0.5":    jsonType,
			"application/json;q=0.2, application/octet-stream;q=0.8": sszType,
		} {
			answer := a.prepare().header(accept)
			t.Prepared(answer, "get a header", http.StatusOK)
			got, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
			t.Check(got == want, want+" for Accept: "+accept, got)
		}
	})
	r.It("REL-HDR-11", "compares qualities in all of their digits", func(t *suite.T) {
		a := r.open(t)
		a.prepareServed(a.prepareSubmitted(a.block("a", gwei(1000))))
		for accept, want := range map[string]string{
			"application/json;q=0.51,application/octet-stream;q=0.55": sszType,
			"application/octet-stream;q=0.51,application/json;q=0.55": jsonType,
		} {
			answer := a.header(accept)
			t.Prepared(answer, "get a header", http.StatusOK)
			got, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
			t.Check(got == want, want+" for Accept: "+accept, got)
		}
	})
	r.It("REL-HDR-12", "carries the commitments of two blobs in their order", func(t *suite.T) {
		a := r.open(t)
		requireFork(t, eth.Deneb, "blobs")
		s := a.prepareSubmitted(a.blockWith("a", gwei(1000), 2, gasLimit))
		bid := a.checkServed(s)
		t.Check(fmt.Sprint(bid.Message.BlobKZGCommitments) == fmt.Sprint(s.BlobsBundle.Commitments),
			fmt.Sprintf("the commitments of the block's blobs: %v", s.BlobsBundle.Commitments),
			bid.Message.BlobKZGCommitments)
	})
	r.It("REL-HDR-13", "carries the execution requests", func(t *suite.T) {
		a, s := leading(t)
		requireFork(t, eth.Electra, "execution requests")
		bid := a.checkServed(s)
		t.Check(bid.Message.ExecutionRequests != nil, "execution requests", "none")
		want, err := s.ExecutionRequests.HashTreeRoot()
		t.Ready(err, "hash requests")
		got, err := bid.Message.ExecutionRequests.HashTreeRoot()
		t.Check(err == nil && got == want, "the requests of the block", "others")
	})
	r.It("REL-HDR-13", "carries a withdrawal and a consolidation", func(t *suite.T) {
		a := r.open(t)
		requireFork(t, eth.Electra, "execution requests")
		s := a.blockInOrder("a", gwei(1000), world.Order{Slot: *a.slot, GasLimit: gasLimit, Requests: true})
		if len(s.ExecutionRequests.Withdrawals) == 0 || len(s.ExecutionRequests.Consolidations) == 0 {
			t.Inconclusive("the world's block has no requests")
		}
		bid := a.checkServed(a.prepareSubmitted(s))
		t.Check(bid.Message.ExecutionRequests != nil, "execution requests", "none")
		t.Check(bid.Message.ExecutionRequests.String() == s.ExecutionRequests.String(), s.ExecutionRequests.String(),
			bid.Message.ExecutionRequests.String())
	})
	r.It("REL-HDR-14", "says the value that was signed", func(t *suite.T) {
		a, s := leading(t)
		bid := a.checkServed(s)
		t.Check(bid.Message.Value.Eq(s.Message.Value), s.Message.Value.Dec(), bid.Message.Value.Dec())
	})
	r.It("REL-HDR-14", "says the value that was signed, also when the block pays more", func(t *suite.T) {
		a := r.open(t)
		a.prepareBid()
		s := a.block("a", gwei(2000))
		s.Message.Value.Sub(s.Message.Value, gwei(500))
		if answer := a.submit(s.sign()); answer.Status != http.StatusOK {
			t.Lenient("a block is not taken at less than it pays: %s", answer)
			return
		}
		bid := a.checkServed(s)
		t.Check(bid.Message.Value.Eq(s.Message.Value), s.Message.Value.Dec(), bid.Message.Value.Dec())
	})
	r.It("REL-HDR-15", "serves the header of the submitted payload", func(t *suite.T) {
		a, s := leading(t)
		bid := a.checkServed(s)
		want, err := probe.PayloadRoot(a.fork(), s.ExecutionPayload)
		t.Ready(err, "hash a payload")
		got, err := probe.HeaderRoot(a.fork(), bid.Message.Header)
		t.Check(err == nil && got == want, fmt.Sprintf("a header with the root %#x of the payload", want),
			fmt.Sprintf("%#x", got))
	})
	r.It("REL-HDR-16", "serves the highest of four builders' bids that can be cancelled", func(t *suite.T) {
		a := r.open(t)
		var all []*submission
		for i, value := range []uint64{4000, 1000, 2000, 3000} {
			all = append(all, a.block(string(rune('a'+i)), gwei(value)))
		}
		for _, s := range all {
			answer := t.Preparing().Do(builderAPI(t), post(submitPath+"?cancellations=1", jsonType, s.json()))
			if answer.Status == http.StatusBadRequest {
				t.Unsupported("cancellations are off: %s", answer)
			}
			t.Prepared(answer, "submit a valid block", http.StatusOK, http.StatusAccepted)
		}
		a.checkServed(all[0])
	})
	r.It("REL-HDR-16", "serves the highest of three bids", func(t *suite.T) {
		a := r.open(t)
		var all []*submission
		for i, value := range []uint64{2000, 4000, 3000} {
			all = append(all, a.block(string(rune('a'+i)), gwei(value)))
		}
		for _, s := range all {
			a.prepareSubmitted(s)
		}
		a.checkServed(all[1])
	})
	r.It("REL-HDR-16", "serves the bid that is a wei higher", func(t *suite.T) {
		a := r.open(t)
		low, high := a.block("a", gwei(1000)), a.block("b", new(uint256.Int).AddUint64(gwei(1000), 1))
		a.prepareSubmitted(low)
		a.prepareSubmitted(high)
		a.checkServed(high)
	})
	r.It("REL-HDR-17", "never serves less than before", func(t *suite.T) {
		a := r.open(t)
		best := gwei(0)
		for i, value := range []uint64{1000, 3000, 2000, 4000} {
			a.prepareSubmitted(a.block(string(rune('a'+i)), gwei(value)))
			bid := a.bid()
			t.Check(bid != nil, "a bid", "204")
			t.Check(!bid.Message.Value.Lt(best), "at least "+best.Dec(), bid.Message.Value.Dec())
			best = bid.Message.Value
		}
	})
	r.It("REL-HDR-18", "says the same in JSON and in SSZ, also when the bid has changed", func(t *suite.T) {
		a := r.open(t)
		low, high := a.block("a", gwei(2000)), a.block("b", gwei(3000))
		for _, s := range []*submission{low, high} {
			a.prepareServed(a.prepareSubmitted(s))
			text := a.checkServed(s)
			binary := a.readSSZ(a.header(sszType))
			one, errOne := probe.Bid(a.fork(), text).MarshalSSZ()
			other, errOther := probe.Bid(a.fork(), binary).MarshalSSZ()
			t.Check(errOne == nil && errOther == nil && bytes.Equal(one, other), "the same bid",
				fmt.Sprintf("%s in JSON and %s in SSZ", text, binary))
		}
	})
	r.It("REL-HDR-19", "finds the bid by capital letters", func(t *suite.T) {
		a, s := leading(t)
		a.prepareServed(s)
		path := fmt.Sprintf("/eth/v1/builder/header/%d/0x%X/0x%X", a.slot.Slot, a.slot.ParentHash[:], a.proposer.Public[:])
		t.Status(t.Get(proposerAPI(t), path), http.StatusOK)
	})
	r.It("REL-HDR-20", "has no bid for a slot that is over", func(t *suite.T) {
		a := r.open(t)
		slot := *a.slot
		slot.Slot = max(slot.Slot, 3) - 3
		a.slot = &slot
		t.Status(a.header(jsonType), http.StatusBadRequest, http.StatusNoContent)
	})
	r.It("REL-HDR-21", "answers before the client stops waiting", func(t *suite.T) {
		a, _ := leading(t)
		const patience = 400 * time.Millisecond
		answer := t.Do(proposerAPI(t), probe.Request{Method: http.MethodGet, Path: a.headerPath(), Header: map[string]string{
			"Date-Milliseconds": strconv.FormatInt(t.Now().UnixMilli(), 10),
			"X-Timeout-Ms":      strconv.FormatInt(patience.Milliseconds(), 10),
		}})
		t.Check(answer.Took <= patience, "an answer within "+patience.String(), answer.Took)
	})
	r.It("REL-HDR-22", "serves no bid after its cut-off", func(t *suite.T) {
		cutOff, slot := t.Target.Limits.HeaderCutOff(), t.World.Facts.Slots(1)
		if cutOff+clockMargin >= slot {
			t.Inconclusive("the cut-off of %s needs longer slots than the world's of %s", cutOff, slot)
		}
		a := r.openToPropose(t) // no block of the slot ends the auction
		a.prepareServed(a.prepareSubmitted(a.block("a", gwei(1000))))
		t.Until(a.start().Add(cutOff + clockMargin))
		t.Status(a.header(jsonType), http.StatusNoContent, http.StatusBadRequest)
	})
	r.It("REL-HDR-23", "answers JSON unless asked otherwise", func(t *suite.T) {
		a, _ := leading(t)
		for _, accept := range []string{"", "*/*", "application/*", jsonType} {
			answer := a.prepare().header(accept)
			t.Prepared(answer, "get a header", http.StatusOK)
			got := answer.Header.Get("Content-Type")
			t.Check(strings.HasPrefix(got, jsonType), "JSON for Accept: "+strconv.Quote(accept), got)
			a.readBid(answer)
		}
	})
	r.It("REL-HDR-24", "has no bid for a proposer that never registered", func(t *suite.T) {
		a := r.openFor(t, world.Wanted{Kind: world.Stranger})
		a.submit(a.block("a", gwei(1000)))
		t.Status(a.header(jsonType), http.StatusNoContent, http.StatusBadRequest)
	})
	r.It("REL-HDR-25", "writes numbers as text", func(t *suite.T) {
		a, _ := leading(t)
		answer := a.prepare().header(jsonType)
		t.Prepared(answer, "get a header", http.StatusOK)
		t.Check(!bareNumber.Match(answer.Body), "no number that is not text", answer)
		for _, word := range regexp.MustCompile(`"0x[0-9a-fA-F]*"`).FindAllString(string(answer.Body), -1) {
			if word != strings.ToLower(word) {
				t.Lenient("hexadecimal in capitals: %s", word)
			}
		}
	})
}

// readSSZ decodes a bid in SSZ.
func (a *auction) readSSZ(answer *probe.Answer) *builderelectra.SignedBuilderBid {
	t := a.t
	if answer.Status == http.StatusNotAcceptable {
		t.Unsupported("406 to SSZ")
	}
	t.Status(answer, http.StatusOK)
	t.Check(answer.Header.Get("Content-Type") == sszType, sszType, answer.Header.Get("Content-Type"))
	t.Check(answer.Header.Get("Eth-Consensus-Version") == a.fork().String(), "Eth-Consensus-Version "+a.fork().String(),
		answer.Header)
	bid, err := probe.ReadBid(a.fork(), sszType, answer.Body)
	t.Check(err == nil, "a signed builder bid in SSZ", err)
	return bid
}

// takenDown is how long a relay may still serve a bid for a fee recipient that the proposer has
// replaced. It is shorter than the time in which bids of the slot are served.
const takenDown = 300 * time.Millisecond

// describeReplacedRecipients adds specs about bids for a fee recipient that the proposer has
// replaced.
func describeReplacedRecipients(r *specs) {
	r.It("REL-HDR-26", "serves no bid for a fee recipient that was replaced", func(t *suite.T) {
		before := r.freshRegistration(t)
		t.Prepared(sendRegistrations(t.Preparing(), before), "register", http.StatusOK)
		t.Ready(waitHeld(t, before), "see the registration in the data API")
		a := r.openPaying(t, before)
		old := a.prepareSubmitted(a.block("a", gwei(2000)))
		second := a.prepareSubmitted(a.block("c", gwei(2500)))
		a.prepareServed(second)
		after := r.freshRegistration(t)
		t.Prepared(sendRegistrations(t.Preparing(), after), "register another fee recipient", http.StatusOK)
		err := t.Eventually(takenDown, func() error {
			if bid := a.bid(); bid != nil && (bid.Message.Header.BlockHash == old.Message.BlockHash ||
				bid.Message.Header.BlockHash == second.Message.BlockHash) {
				return errStillServed
			}
			return nil
		})
		t.Check(err == nil, "no bid that pays the fee recipient of before", err)
		former := a.block("d", gwei(3000))
		a.submit(former)
		a.checkNotServed(former)
		a.feeRecipient = after.Message.FeeRecipient
		a.checkServed(a.prepareSubmitted(a.block("b", gwei(1000))))
	})
}

const errStillServed = plainError("its bid is served")
