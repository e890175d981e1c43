package relay

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/internal/eth"
)

// exact: rules that hold up to a wei, a second or a single field, and not only by and large.
func exact(r *room) {
	exactRegistrations(r)
	exactBids(r)
	exactPayloads(r)
	exactLists(r)
}

// newerGasLimit makes a registration that is newer than the given one, and differs from it in the
// gas limit only.
func (r *room) newerGasLimit(t *suite.T, one *builderv1.SignedValidatorRegistration,
	limit uint64) *builderv1.SignedValidatorRegistration {
	later := r.fresh(t)
	later.Message.FeeRecipient, later.Message.GasLimit = one.Message.FeeRecipient, limit
	sign(t, later, r.validators(t)[t.World.Facts.Restless()])
	return later
}

// dutyCarries waits until a duty of the registration's validator carries it, for two epochs.
func dutyCarries(t *suite.T, one *builderv1.SignedValidatorRegistration) error {
	return t.Eventually(t.Epochs(2), func() error {
		duties, err := listDuties(t)
		if err != nil {
			return err
		}
		for _, d := range duties {
			if d.Entry != nil && d.Entry.Signature == one.Signature {
				return nil
			}
		}
		return fmt.Errorf("no duty carries it yet")
	})
}

func exactRegistrations(r *room) {
	r.It("REL-REG-04", "refuses a timestamp that lies 20 seconds ahead", func(t *suite.T) {
		one := r.fresh(t)
		one.Message.Timestamp = t.Now().Add(20 * time.Second).Truncate(time.Second)
		sign(t, one, r.validators(t)[t.World.Facts.Restless()])
		t.Status(sendRegistrations(t, one), http.StatusBadRequest)
	})
	r.It("REL-REG-13", "tells builders of a newer gas limit", func(t *suite.T) {
		one := r.fresh(t)
		takes(t, sendRegistrations(t, one), one)
		later := r.newerGasLimit(t, one, gasLimit-1)
		takes(t, sendRegistrations(t, later), later)
		err := dutyCarries(t, later)
		t.Check(err == nil, "the newer registration among the duties", err)
	})
	r.It("REL-REG-03", "keeps the newer of two gas limits", func(t *suite.T) {
		older := r.fresh(t)
		newer := r.newerGasLimit(t, older, gasLimit-1)
		takes(t, sendRegistrations(t, newer), newer)
		t.Ready(dutyCarries(t, newer), "see the newer registration among the duties")
		t.Status(sendRegistrations(t, older), http.StatusOK, http.StatusBadRequest)
		t.Until(t.Now().Add(news))
		duties, err := listDuties(t)
		t.Check(err == nil, "a list of duties", err)
		for _, d := range duties {
			t.Check(d.Entry == nil || d.Entry.Signature != older.Signature, "no duty with the older registration",
				"one for slot "+d.Slot)
		}
	})
	r.It("REL-REG-06", "keeps the last of an SSZ list", func(t *suite.T) {
		other := registration(t, r.validators(t)[0], payee(0), t.Now())
		one := r.fresh(t)
		var body []byte
		for _, each := range []*builderv1.SignedValidatorRegistration{other, one} {
			raw, err := each.MarshalSSZ()
			t.Ready(err, "encode a registration")
			body = append(body, raw...)
		}
		answer := t.Do(proposerAPI(t), post("/eth/v1/builder/validators", sszType, body))
		optional(t, answer, "SSZ")
		takes(t, answer, one)
	})
	r.It("REL-DUT-01", "lists a slot of this epoch also when it is over", func(t *suite.T) {
		r.ready(t)
		per := t.World.Facts.SlotsPerEpoch
		var slot uint64
		t.Ready(t.Eventually(t.Epochs(2), func() error {
			duties, err := listDuties(t)
			if err != nil {
				return err
			}
			for _, d := range duties {
				slot, err = strconv.ParseUint(d.Slot, 10, 64)
				if start := t.World.Facts.At(phase0.Slot(slot)); err == nil && slot%per < per-2 && t.Now().Before(start) {
					return nil
				}
			}
			return fmt.Errorf("the list has no slot to come that does not end its epoch")
		}), "find a registered slot")
		t.Until(t.World.Facts.At(phase0.Slot(slot + 1)).Add(news)) // the slot is over, and its epoch is not
		duties, err := listDuties(t)
		t.Check(err == nil, "a list of duties", err)
		if t.Now().After(t.World.Facts.At(phase0.Slot(slot - slot%per + per))) {
			t.Inconclusive("the epoch was over before the list was asked for")
		}
		for _, d := range duties {
			if d.Slot == strconv.FormatUint(slot, 10) {
				return
			}
		}
		t.Check(false, fmt.Sprintf("slot %d, which was listed before it began", slot), "it is gone")
	})
}

func exactBids(r *room) {
	r.It("REL-HDR-16", "serves the bid that is a wei higher", func(t *suite.T) {
		a := r.open(t)
		low, high := a.block("a", gwei(1000)), a.block("b", new(uint256.Int).AddUint64(gwei(1000), 1))
		a.submitted(low)
		a.submitted(high)
		a.serves(high)
	})
	r.It("REL-SUB-32", "leaves the leading bid where it is when a block is found invalid", func(t *suite.T) {
		a := r.open(t)
		good, bad := a.block("a", gwei(1000)), a.block("b", gwei(2000))
		a.submitted(good)
		bad.Message.Value.AddUint64(bad.Message.Value, 1)
		t.Prepared(a.submit(bad.sign()), "submit a block that pays less than it says", http.StatusBadRequest)
		a.serves(good)
	})
	r.It("REL-SUB-34", "refuses a value that is the right one and 2^256", func(t *suite.T) {
		a := r.open(t)
		a.ready()
		s := a.block("a", gwei(1000))
		var document map[string]any
		t.Ready(json.Unmarshal(s.json(), &document), "read a submission")
		message, _ := document["message"].(map[string]any)
		message["value"] = new(big.Int).Add(s.Message.Value.ToBig(), new(big.Int).Lsh(big.NewInt(1), 256)).String()
		t.Status(t.Do(builderAPI(t), post(submitPath, jsonType, encode(t, document))), http.StatusBadRequest)
		a.notServed(s)
	})
	// Neither of the two fields is part of the execution layer's state, so that nothing else is wrong
	// with the block.
	for name, change := range map[string]func(w *capella.Withdrawal){
		"index": func(w *capella.Withdrawal) { w.Index++ }, "validator": func(w *capella.Withdrawal) { w.ValidatorIndex++ },
	} {
		r.It("REL-SUB-15", "refuses a withdrawal with another "+name, func(t *suite.T) {
			since(t, eth.Capella, "withdrawals")
			a := r.open(t)
			a.ready()
			s := a.block("a", gwei(1000))
			if len(s.ExecutionPayload.Withdrawals) == 0 {
				t.Inconclusive("the slot has no withdrawals")
			}
			last := len(s.ExecutionPayload.Withdrawals) - 1
			changed := *s.ExecutionPayload.Withdrawals[last]
			change(&changed)
			s.ExecutionPayload.Withdrawals[last] = &changed
			s.rehash()
			a.refused(s.sign())
		})
	}
	r.It("REL-SUB-08", "refuses a lower gas_used in the message", func(t *suite.T) {
		a := r.open(t)
		a.ready()
		s := a.block("a", gwei(1000))
		s.Message.GasUsed--
		a.refused(s.sign())
	})
	r.It("REL-HDR-11", "compares qualities in all of their digits", func(t *suite.T) {
		a := r.open(t)
		a.served(a.submitted(a.block("a", gwei(1000))))
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
}

func exactPayloads(r *room) {
	r.It("REL-PAY-05", "takes no second block of a slot by version 2", func(t *suite.T) {
		a := r.openToPropose(t)
		low, high := a.block("a", gwei(1000)), a.block("b", gwei(2000))
		a.submitted(low)
		first := a.signBlind(a.blind(a.served(low)), a.proposer)
		a.submitted(high)
		second := a.signBlind(a.blind(a.served(high)), a.proposer)
		t.Prepared(a.ask(payloadPath, first), "get the first payload", http.StatusOK)
		answer := a.ask(payloadPathV2, second)
		if answer.Status == http.StatusNotFound {
			t.Unsupported("404 to v2")
		}
		hidden(t, answer, high)
	})
	r.It("REL-PAY-06", "reveals the same block each time", func(t *suite.T) {
		a, s, block := r.won(t, 0)
		for range 2 {
			t.Prepared(a.ask(payloadPath, block), "get the payload", http.StatusOK)
		}
		for range 2 {
			isOf(t, readPayload(t, a.ask(payloadPath, block)), s)
		}
	})
	r.It("REL-PAY-15", "refuses as many commitments that are others", func(t *suite.T) {
		since(t, eth.Deneb, "blobs")
		a, s, block := r.won(t, 1)
		block.Message.Body.BlobKZGCommitments[0][7] ^= 1
		hidden(t, a.ask(payloadPath, a.signBlind(block, a.proposer)), s)
	})
}

func exactLists(r *room) {
	r.It("REL-DAT-06", "finds nothing of a builder in another builder's slot", func(t *suite.T) {
		_, first := r.delivered(t)
		_, second := r.delivered(t)
		query := fmt.Sprintf("slot=%d&builder_pubkey=", first.Message.Slot)
		t.Check(len(traces(t, deliveredPath, query+first.Message.BuilderPubkey.String())) == 1, "its own delivery", "none")
		got := traces(t, deliveredPath, query+second.Message.BuilderPubkey.String())
		t.Check(len(got) == 0, "no entry", got)
	})
	r.It("REL-DAT-14", "does not list a block that was found invalid", func(t *suite.T) {
		a := r.open(t)
		good, bad := a.block("a", gwei(1000)), a.block("b", gwei(2000))
		bad.Message.Value.AddUint64(bad.Message.Value, 1)
		t.Prepared(a.submit(bad.sign()), "submit a block that pays less than it says", http.StatusBadRequest)
		a.submitted(good)
		t.Ready(listed(t, receivedPath, "block_hash="+good.Message.BlockHash.String()), "see the good block")
		got := traces(t, receivedPath, "block_hash="+bad.Message.BlockHash.String())
		t.Check(len(got) == 0, "no entry of the refused block", got)
	})
}
