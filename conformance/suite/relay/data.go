package relay

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

const (
	deliveredPath = "/relay/v1/data/bidtraces/proposer_payload_delivered"
	receivedPath  = "/relay/v1/data/bidtraces/builder_blocks_received"
)

// traces requests a list of bid traces.
func traces(t *suite.T, path, query string) []map[string]any {
	answer := t.Get(dataAPI(t), path+"?"+query)
	t.Status(answer, http.StatusOK)
	var list []map[string]any
	err := answer.JSON(&list)
	t.Check(err == nil && list != nil, "a JSON array of objects", answer)
	return list
}

// text returns a member of a trace. It fails the spec unless the member is text.
func text(t *suite.T, trace map[string]any, name string) string {
	value, is := trace[name].(string)
	t.Check(is, name+" as text", fmt.Sprint(trace[name]))
	return value
}

// prepareDelivered makes an auction whose payload was revealed and is listed in the Data API.
func (r *specs) prepareDelivered(t *suite.T) (*auction, *submission) {
	return r.prepareDeliveredFor(t, 1000)
}

// prepareDeliveredFor is prepareDelivered for a bid of the given value in gwei.
func (r *specs) prepareDeliveredFor(t *suite.T, value uint64) (*auction, *submission) {
	a, s, block := r.prepareWonFor(t, 0, value)
	t.Prepared(a.prepare().ask(payloadPath, block), "get the payload", http.StatusOK)
	t.Ready(waitListed(t, deliveredPath, "block_hash="+s.Message.BlockHash.String()), "see the delivery in the data API")
	return a, s
}

// waitListed waits until a query finds something.
func waitListed(t *suite.T, path, query string) error {
	return t.Eventually(t.Target.Budgets.Settle(), func() error {
		if len(traces(t, path, query)) == 0 {
			return fmt.Errorf("nothing is listed for %s", query)
		}
		return nil
	})
}

// checkAllHave fails the spec unless a query finds at least one trace, and every one has the value
// in the member.
func checkAllHave(t *suite.T, path, query, member, want string) {
	list := traces(t, path, query)
	t.Check(len(list) > 0, "an entry for "+query, "none")
	for _, trace := range list {
		t.Check(strings.EqualFold(text(t, trace, member), want), member+" "+want, trace[member])
	}
}

// describeData adds specs about GET /relay/v1/data/….
func describeData(r *specs) {
	r.It("REL-DAT-01", "lists what was revealed", func(t *suite.T) {
		_, s, block := r.prepareWon(t, 0)
		a := s.a
		t.Prepared(a.prepare().ask(payloadPath, block), "get the payload", http.StatusOK)
		err := waitListed(t, deliveredPath, "block_hash="+s.Message.BlockHash.String())
		t.Check(err == nil, "the delivered payload", err)
	})
	r.It("REL-DAT-02", "does not list what nobody asked for", func(t *suite.T) {
		a := r.open(t)
		s := a.prepareSubmitted(a.block("a", gwei(1000)))
		a.prepareServed(s)
		t.Until(a.start().Add(300 * time.Millisecond))
		list := traces(t, deliveredPath, "block_hash="+s.Message.BlockHash.String())
		t.Check(len(list) == 0, "no delivery", list)
	})
	describeFilters(r)
	describeRefusedQueries(r)
	describeNegativeNumbers(r)
	describeReceivedBids(r)
	describeRegistrations(r)
	r.It("REL-DAT-24", "says the number of transactions and of the block", func(t *suite.T) {
		_, s := r.prepareDelivered(t)
		trace := traces(t, deliveredPath, "block_hash="+s.Message.BlockHash.String())[0]
		t.Check(text(t, trace, "num_tx") == strconv.Itoa(len(s.ExecutionPayload.Transactions)),
			fmt.Sprint(len(s.ExecutionPayload.Transactions)), trace["num_tx"])
		number := strconv.FormatUint(s.ExecutionPayload.BlockNumber, 10)
		t.Check(text(t, trace, "block_number") == number, number, trace["block_number"])
	})
	r.It("REL-DAT-20", "writes numbers as text", func(t *suite.T) {
		_, s := r.prepareDelivered(t)
		trace := traces(t, deliveredPath, "block_hash="+s.Message.BlockHash.String())[0]
		for _, member := range []string{"slot", "gas_limit", "gas_used", "value"} {
			_, err := uint256.FromDecimal(text(t, trace, member))
			t.Check(err == nil, member+" in decimal digits", trace[member])
		}
	})
	r.It("REL-DAT-20", "writes no number of received blocks bare", func(t *suite.T) {
		a := r.open(t)
		s := a.prepareSubmitted(a.block("a", gwei(1000)))
		query := "block_hash=" + s.Message.BlockHash.String()
		t.Ready(waitListed(t, receivedPath, query), "see the received block")
		for member, value := range traces(t, receivedPath, query)[0] {
			_, bare := value.(float64)
			t.Check(!bare, member+" as text", value)
		}
	})
	r.It("REL-DAT-26", "says what the builder signed", func(t *suite.T) {
		_, s := r.prepareDelivered(t)
		m := s.Message
		trace := traces(t, deliveredPath, "block_hash="+m.BlockHash.String())[0]
		for member, want := range map[string]string{
			"slot": strconv.FormatUint(m.Slot, 10), "parent_hash": m.ParentHash.String(), "block_hash": m.BlockHash.String(),
			"builder_pubkey": m.BuilderPubkey.String(), "proposer_pubkey": m.ProposerPubkey.String(),
			"proposer_fee_recipient": m.ProposerFeeRecipient.String(),
			"gas_limit":              strconv.FormatUint(m.GasLimit, 10), "gas_used": strconv.FormatUint(m.GasUsed, 10),
			"value": m.Value.Dec(),
		} {
			t.Check(strings.EqualFold(text(t, trace, member), want), member+" "+want, trace[member])
		}
	})
	r.It("REL-DAT-25", "asks for no authentication", func(t *suite.T) {
		traces(t, deliveredPath, "limit=1")
	})
	r.It("REL-DAT-23", "answers [] when there are no received blocks", func(t *suite.T) {
		list := traces(t, receivedPath, "slot=18446744073709551")
		t.Check(len(list) == 0, "an empty array", list)
	})
	r.It("REL-DAT-23", "answers [] when there is nothing", func(t *suite.T) {
		list := traces(t, deliveredPath, "slot=18446744073709551")
		t.Check(len(list) == 0, "an empty array", list)
	})
}

// describeFilters adds specs about the parameters of GET
// /relay/v1/data/bidtraces/proposer_payload_delivered.
func describeFilters(r *specs) {
	for _, row := range []struct {
		id, parameter, member string
		value                 func(s *submission) string
	}{
		{"REL-DAT-03", "slot", "slot", func(s *submission) string { return strconv.FormatUint(s.Message.Slot, 10) }},
		{"REL-DAT-04", "block_hash", "block_hash", func(s *submission) string { return s.Message.BlockHash.String() }},
		{"REL-DAT-05", "block_number", "block_number", func(s *submission) string {
			return strconv.FormatUint(s.ExecutionPayload.BlockNumber, 10)
		}},
		{"REL-DAT-06", "proposer_pubkey", "proposer_pubkey", func(s *submission) string {
			return s.Message.ProposerPubkey.String()
		}},
		{"REL-DAT-06", "builder_pubkey", "builder_pubkey", func(s *submission) string {
			return s.Message.BuilderPubkey.String()
		}},
	} {
		r.It(row.id, "filters by "+row.parameter, func(t *suite.T) {
			_, other := r.prepareDelivered(t) // a delivery that must not be listed
			_, s := r.prepareDelivered(t)
			_ = other
			checkAllHave(t, deliveredPath, row.parameter+"="+row.value(s), row.member, row.value(s))
		})
	}
	r.It("REL-DAT-07", "lists no more than limit", func(t *suite.T) {
		r.prepareDelivered(t)
		r.prepareDelivered(t)
		list := traces(t, deliveredPath, "limit=1")
		t.Check(len(list) == 1, "one entry", len(list))
	})
	r.It("REL-DAT-07", "lists no more received blocks of a slot than limit", func(t *suite.T) {
		a := r.open(t)
		for i, builder := range []string{"a", "b", "c"} {
			s := a.prepareSubmitted(a.block(builder, gwei(1000+uint64(i))))
			t.Ready(waitListed(t, receivedPath, "block_hash="+s.Message.BlockHash.String()), "see the received block")
		}
		list := traces(t, receivedPath, fmt.Sprintf("slot=%d&limit=1", a.slot.Slot))
		t.Check(len(list) == 1, "one entry", len(list))
	})
	r.It("REL-DAT-31", "finds a delivery by a hash in capitals", func(t *suite.T) {
		_, s := r.prepareDelivered(t)
		hash := fmt.Sprintf("0x%X", s.Message.BlockHash[:])
		checkAllHave(t, deliveredPath, "block_hash="+hash, "block_hash", hash)
	})
	r.It("REL-DAT-31", "finds a received block by a hash in capitals", func(t *suite.T) {
		a := r.open(t)
		s := a.prepareSubmitted(a.block("a", gwei(1000)))
		t.Ready(waitListed(t, receivedPath, "block_hash="+s.Message.BlockHash.String()), "see the received block")
		hash := fmt.Sprintf("0x%X", s.Message.BlockHash[:])
		checkAllHave(t, receivedPath, "block_hash="+hash, "block_hash", hash)
	})
	r.It("REL-DAT-08", "lists slots up to cursor, the newest first", func(t *suite.T) {
		_, first := r.prepareDelivered(t)
		_, second := r.prepareDelivered(t)
		_ = second
		list := traces(t, deliveredPath, "cursor="+strconv.FormatUint(first.Message.Slot, 10))
		last := first.Message.Slot
		t.Check(len(list) > 0, "the delivery of the cursor's slot", "none")
		for _, trace := range list {
			slot, err := strconv.ParseUint(text(t, trace, "slot"), 10, 64)
			t.Check(err == nil && slot <= last, fmt.Sprintf("slots that go down from %d", first.Message.Slot), trace["slot"])
			last = slot
		}
	})
	r.It("REL-DAT-21", "orders by value", func(t *suite.T) {
		for _, value := range []uint64{2000, 10_000, 3000} { // one of more digits, since values are no texts
			r.prepareDeliveredFor(t, value)
		}
		for order, rising := range map[string]bool{"value": true, "-value": false} {
			var last *uint256.Int
			list := traces(t, deliveredPath, "order_by="+order)
			first := traces(t, deliveredPath, "limit=1&order_by="+order)
			t.Check(len(list) > 0 && len(first) == 1, "the deliveries, and one of them", fmt.Sprint(len(list), len(first)))
			extreme := text(t, list[0], "value")
			t.Check(text(t, first[0], "value") == extreme, extreme+" first with limit=1", text(t, first[0], "value"))
			for _, trace := range list {
				value, err := uint256.FromDecimal(text(t, trace, "value"))
				t.Check(err == nil, "a value", trace["value"])
				if last != nil {
					t.Check(rising && !value.Lt(last) || !rising && !value.Gt(last), "values in the order of "+order, last.Dec()+
						" before "+value.Dec())
				}
				last = value
			}
		}
	})
	r.It("REL-DAT-06", "finds nothing of a builder in another builder's slot", func(t *suite.T) {
		_, first := r.prepareDelivered(t)
		_, second := r.prepareDelivered(t)
		query := fmt.Sprintf("slot=%d&builder_pubkey=", first.Message.Slot)
		t.Check(len(traces(t, deliveredPath, query+first.Message.BuilderPubkey.String())) == 1, "its own delivery", "none")
		got := traces(t, deliveredPath, query+second.Message.BuilderPubkey.String())
		t.Check(len(got) == 0, "no entry", got)
	})
}

// describeRefusedQueries adds specs about queries that are mistakes of the caller.
func describeRefusedQueries(r *specs) {
	for _, row := range []struct{ id, title, path string }{
		{"REL-DAT-09", "refuses slot and cursor together", deliveredPath + "?slot=1&cursor=1"},
		{"REL-DAT-10", "refuses a slot of letters", deliveredPath + "?slot=abc"},
		{"REL-DAT-10", "refuses a slot of letters for received blocks", receivedPath + "?slot=abc"},
		{"REL-DAT-11", "refuses a hash of two bytes", deliveredPath + "?block_hash=0x1234"},
		{"REL-DAT-11", "refuses a hash of 33 bytes", deliveredPath + "?block_hash=" + zeroHash + "00"},
		{"REL-DAT-12", "refuses a limit of a billion", deliveredPath + "?limit=1000000000"},
		{"REL-DAT-12", "refuses a limit of a billion for received blocks", receivedPath + "?slot=1&limit=1000000000"},
		{"REL-DAT-16", "refuses received blocks without a filter", receivedPath},
		{"REL-DAT-22", "refuses an unknown order", deliveredPath + "?order_by=colour"},
		{"REL-DAT-19", "refuses a registration without pubkey", "/relay/v1/data/validator_registration"},
	} {
		r.It(row.id, row.title, func(t *suite.T) {
			answer := t.Get(dataAPI(t), row.path)
			t.Status(answer, http.StatusBadRequest)
			checkRefusal(t, answer)
		})
	}
}

// describeNegativeNumbers adds specs about filters that nothing can have.
func describeNegativeNumbers(r *specs) {
	for _, path := range []string{deliveredPath, receivedPath} {
		for _, parameter := range []string{"slot", "block_number", "cursor"} {
			if path == receivedPath && parameter == "cursor" {
				continue // it has none
			}
			r.It("REL-DAT-30", "finds nothing by a negative "+parameter+" in "+path[len("/relay/v1/data/bidtraces/"):],
				func(t *suite.T) {
					answer := t.Get(dataAPI(t), path+"?"+parameter+"=-1")
					t.Status(answer, http.StatusBadRequest, http.StatusOK)
					if answer.Status == http.StatusOK {
						var found []any
						err := answer.JSON(&found)
						t.Check(err == nil && found != nil && len(found) == 0, "an empty array", answer)
					}
				})
		}
	}
}

// describeReceivedBids adds specs about GET /relay/v1/data/bidtraces/builder_blocks_received.
func describeReceivedBids(r *specs) {
	r.It("REL-DAT-13", "lists a verified block", func(t *suite.T) {
		a := r.open(t)
		s := a.prepareSubmitted(a.block("a", gwei(1000)))
		err := waitListed(t, receivedPath, "block_hash="+s.Message.BlockHash.String())
		t.Check(err == nil, "the block that was submitted", err)
		checkAllHave(t, receivedPath, "slot="+strconv.FormatUint(s.Message.Slot, 10), "slot",
			strconv.FormatUint(s.Message.Slot, 10))
		checkAllHave(t, receivedPath, "builder_pubkey="+s.Message.BuilderPubkey.String(), "builder_pubkey",
			s.Message.BuilderPubkey.String())
	})
	r.It("REL-DAT-13", "lists a verified block that does not lead", func(t *suite.T) {
		a := r.open(t)
		// The bid that can be lowered is no reason to leave the verification of another one out.
		high, low := a.block("a", gwei(2000)), a.block("b", gwei(1000))
		answer := t.Do(builderAPI(t), post(submitPath+"?cancellations=1", jsonType, high.json()))
		if answer.Status == http.StatusBadRequest {
			return // cancellations are off, and so each block that does not lead may be left out
		}
		t.Prepared(answer, "submit a valid block", http.StatusOK)
		if answer := a.submit(low); answer.Status != http.StatusOK {
			t.Prepared(answer, "submit a lower one", http.StatusAccepted)
			return // it was not verified, since it cannot lead
		}
		err := waitListed(t, receivedPath, "block_hash="+low.Message.BlockHash.String())
		t.Check(err == nil, "the block that was submitted", err)
	})
	r.It("REL-DAT-14", "does not list a refused block", func(t *suite.T) {
		a := r.open(t)
		good, bad := a.block("a", gwei(1000)), a.block("b", gwei(2000))
		bad.Message.GasUsed++
		t.Prepared(a.prepare().submit(bad.sign()), "submit a wrong block", http.StatusBadRequest)
		a.prepareSubmitted(good)
		t.Ready(waitListed(t, receivedPath, "block_hash="+good.Message.BlockHash.String()), "see the good block")
		list := traces(t, receivedPath, "slot="+strconv.FormatUint(good.Message.Slot, 10))
		for _, trace := range list {
			t.Check(text(t, trace, "block_hash") != bad.Message.BlockHash.String(), "no entry of the refused block", "one")
		}
	})
	r.It("REL-DAT-14", "does not list a block that was found invalid", func(t *suite.T) {
		a := r.open(t)
		good, bad := a.block("a", gwei(1000)), a.block("b", gwei(2000))
		bad.Message.Value.AddUint64(bad.Message.Value, 1)
		t.Prepared(a.submit(bad.sign()), "submit a block that pays less than it says", http.StatusBadRequest)
		a.prepareSubmitted(good)
		t.Ready(waitListed(t, receivedPath, "block_hash="+good.Message.BlockHash.String()), "see the good block")
		got := traces(t, receivedPath, "block_hash="+bad.Message.BlockHash.String())
		t.Check(len(got) == 0, "no entry of the refused block", got)
	})
	r.It("REL-DAT-15", "says when a block came", func(t *suite.T) {
		a := r.open(t)
		a.prepareBid()
		s := a.block("a", gwei(1000))
		answer := a.submit(s)
		t.Prepared(answer, "submit a valid block", http.StatusOK)
		query := "block_hash=" + s.Message.BlockHash.String()
		t.Ready(waitListed(t, receivedPath, query), "see the block")
		trace := traces(t, receivedPath, query)[0]
		ms, err := strconv.ParseInt(text(t, trace, "timestamp_ms"), 10, 64)
		from, to := answer.SentAt.UnixMilli()-1, answer.DoneAt.UnixMilli()+1
		t.Check(err == nil && ms >= from && ms <= to, fmt.Sprintf("timestamp_ms from %d to %d", from, to),
			trace["timestamp_ms"])
		t.Check(text(t, trace, "timestamp") == strconv.FormatInt(ms/1000, 10), "timestamp as the same in seconds",
			trace["timestamp"])
	})
}

// describeRegistrations adds specs about GET /relay/v1/data/validator_registration.
func describeRegistrations(r *specs) {
	r.It("REL-DAT-17", "answers the registration as it was signed", func(t *suite.T) {
		one := r.freshRegistration(t)
		t.Prepared(sendRegistrations(t.Preparing(), one), "register", http.StatusOK)
		err := waitHeld(t, one)
		t.Check(err == nil, "message and signature of the validator", err)
	})
	r.It("REL-DAT-17", "answers a gas limit of more than 53 bits as it was signed", func(t *suite.T) {
		one := r.newerGasLimit(t, r.freshRegistration(t), 1<<53+1)
		t.Prepared(sendRegistrations(t.Preparing(), one), "register", http.StatusOK)
		err := waitHeld(t, one)
		later := r.newerGasLimit(t, one, gasLimit) // for the other specs
		t.Prepared(sendRegistrations(t.Preparing(), later), "register the usual gas limit", http.StatusOK)
		t.Check(err == nil, "message and signature of the validator", err)
	})
	r.It("REL-DAT-18", "has no registration of a stranger", func(t *suite.T) {
		answer := t.Get(dataAPI(t), "/relay/v1/data/validator_registration?pubkey="+someKey)
		t.Status(answer, http.StatusBadRequest, http.StatusNotFound)
		checkRefusal(t, answer)
	})
}

// describeSignedValues adds specs about the value with which a delivery is listed.
func describeSignedValues(r *specs) {
	r.It("REL-DAT-28", "lists the value of the header", func(t *suite.T) {
		a := r.openToPropose(t)
		a.checkListsSigned(a.prepareSubmitted(a.block("a", gwei(1000))))
	})
	r.It("REL-DAT-28", "lists the value of the header, when the block was offered for less before", func(t *suite.T) {
		a := r.openToPropose(t)
		high := a.block("a", gwei(2000))
		a.prepareSubmitted(a.block("c", gwei(500))) // so that a refusal below is not of the auction
		// at first by another builder
		for i, key := range []*probe.BLSKey{a.builderKey("b"), high.key} {
			copied, message := *high.SubmitBlockRequest, *high.Message
			message.BuilderPubkey, message.Value = key.Public, gwei(a.slot.BaseGwei+1000+uint64(i))
			copied.Message = &message
			low := &submission{SubmitBlockRequest: &copied, a: a, key: key}
			if answer := a.submit(low.sign()); answer.Status != http.StatusOK {
				t.Lenient("a block is not taken at less than it pays, so that it has one value: %s", answer)
			}
		}
		a.checkListsSigned(a.prepareSubmitted(high))
	})
}

// checkListsSigned has the proposer sign the submission's header and get its payload. It fails the
// spec unless the delivery is listed with the value of that header.
func (a *auction) checkListsSigned(s *submission) {
	t := a.t
	bid := a.prepareServed(s)
	t.Prepared(a.prepare().ask(payloadPath, a.signBlind(a.makeBlinded(bid), a.proposer)), "get the payload", http.StatusOK)
	query := "block_hash=" + s.Message.BlockHash.String()
	t.Ready(waitListed(t, deliveredPath, query), "see the delivery in the data API")
	trace := traces(t, deliveredPath, query)[0]
	t.Check(text(t, trace, "value") == bid.Message.Value.Dec(), "the header's value "+bid.Message.Value.Dec(),
		trace["value"])
	if bid.Message.Value.Eq(s.Message.Value) { // otherwise another builder's bid for the block was served
		t.Check(text(t, trace, "builder_pubkey") == s.Message.BuilderPubkey.String(), "the builder who bid it, "+
			s.Message.BuilderPubkey.String(), trace["builder_pubkey"])
	}
}
