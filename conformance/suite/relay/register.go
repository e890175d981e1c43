package relay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

const registerPath = "/eth/v1/builder/validators"

// freshRegistration makes a registration of the restless validator (world.Restless), which
// registers again and again. Each has a newer timestamp than the one before. It waits if the
// timestamp would be more than 8 s in the future.
func (r *specs) freshRegistration(t *suite.T) *builderv1.SignedValidatorRegistration {
	r.registerAll(t)
	keys := r.validators(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := uint64(t.Now().Unix()); r.stamp < now {
		r.stamp = now
	} else {
		r.stamp++
	}
	for uint64(t.Now().Unix())+8 < r.stamp {
		t.Until(t.Now().Add(time.Second))
	}
	to := bellatrix.ExecutionAddress{0xaa, byte(t.Random.Uint32()), byte(t.Random.Uint32()), byte(t.Random.Uint32())}
	return registration(t, keys[t.World.Facts.Restless()], to, time.Unix(int64(r.stamp), 0))
}

// noteStamp notes that the restless validator has a registration of this timestamp, so that those
// of other specs are newer.
func (r *specs) noteStamp(one *builderv1.SignedValidatorRegistration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stamp = max(r.stamp, uint64(one.Message.Timestamp.Unix()))
}

// waitHeld waits until the Data API answers with the registration.
func waitHeld(t *suite.T, want *builderv1.SignedValidatorRegistration) error {
	return t.Eventually(t.Target.Budgets.Settle(), func() error {
		answer, err := dataAPI(t).Do(t, probe.Request{
			Method: http.MethodGet, Path: fmt.Sprintf("/relay/v1/data/validator_registration?pubkey=%#x",
				want.Message.Pubkey[:]),
		})
		if err != nil {
			return err
		}
		got := new(builderv1.SignedValidatorRegistration)
		if err := json.Unmarshal(answer.Body, got); err != nil {
			return fmt.Errorf("no registration: %s", answer)
		}
		if *got.Message != *want.Message || got.Signature != want.Signature {
			return fmt.Errorf("another registration, of %s for %s", got.Message.Timestamp.UTC().Format(time.TimeOnly),
				got.Message.FeeRecipient)
		}
		return nil
	})
}

// checkTakes fails the spec unless the answer is 200 and the Data API then has the registration.
func checkTakes(t *suite.T, answer *probe.Answer, want *builderv1.SignedValidatorRegistration) {
	t.Status(answer, http.StatusOK)
	err := waitHeld(t, want)
	t.Check(err == nil, "the registration in the data API", err)
}

// newerGasLimit makes a registration that is newer than the given one, and differs from it in the
// gas limit only.
func (r *specs) newerGasLimit(t *suite.T, one *builderv1.SignedValidatorRegistration,
	limit uint64) *builderv1.SignedValidatorRegistration {
	later := r.freshRegistration(t)
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

// dutyNames waits until a duty of the registration's validator names its fee recipient, for two
// epochs, whatever signature is beside it.
func dutyNames(t *suite.T, one *builderv1.SignedValidatorRegistration) error {
	return t.Eventually(t.Epochs(2), func() error {
		list, err := listDuties(t)
		if err != nil {
			return err
		}
		for _, d := range list {
			if d.Entry != nil && d.Entry.Message.Pubkey == one.Message.Pubkey &&
				d.Entry.Message.FeeRecipient == one.Message.FeeRecipient {
				return nil
			}
		}
		return fmt.Errorf("no duty carries it yet")
	})
}

// describeRegistering adds specs about POST /eth/v1/builder/validators.
func describeRegistering(r *specs) {
	r.It("REL-REG-01", "takes a valid registration", func(t *suite.T) {
		one := r.freshRegistration(t)
		checkTakes(t, sendRegistrations(t, one), one)
	})
	r.It("REL-REG-01", "takes a later registration of the same validator", func(t *suite.T) {
		for range 2 { // the first one is listed before the second one is sent
			one := r.freshRegistration(t)
			checkTakes(t, sendRegistrations(t, one), one)
		}
	})
	r.It("REL-REG-02", "refuses a signature of another key", func(t *suite.T) {
		one := r.freshRegistration(t)
		sign(t, one, probe.DeriveBLSKey("somebody else"))
		t.Status(sendRegistrations(t, one), http.StatusBadRequest)
		t.Check(lacksRegistration(t, one), "the registration not to be held", "it is in the data API")
	})
	r.It("REL-REG-02", "refuses a signature of another key behind a right one", func(t *suite.T) {
		r.registerAll(t)
		right := registration(t, r.validators(t)[0], payee(0), t.Now())
		one := r.freshRegistration(t)
		sign(t, one, probe.DeriveBLSKey("somebody else"))
		t.Status(sendRegistrations(t, right, one), http.StatusBadRequest)
		t.Check(lacksRegistration(t, one), "the registration not to be held", "it is in the data API")
	})
	r.It("REL-REG-02", "refuses a signature under another domain", func(t *suite.T) {
		one := r.freshRegistration(t)
		root, err := one.Message.HashTreeRoot()
		t.Ready(err, "hash a registration")
		one.Signature = r.validators(t)[t.World.Facts.Restless()].Sign(probe.SigningRoot(root,
			probe.Domain(probe.DomainBuilder, [4]byte{9}, [32]byte{})))
		t.Status(sendRegistrations(t, one), http.StatusBadRequest)
	})
	r.It("REL-REG-03", "keeps the newer of two registrations", func(t *suite.T) {
		older, newer := r.freshRegistration(t), r.freshRegistration(t)
		checkTakes(t, sendRegistrations(t, newer), newer)
		answer := sendRegistrations(t, older)
		t.Status(answer, http.StatusOK, http.StatusBadRequest)
		t.Until(t.Now().Add(heldWithin))
		err := waitHeld(t, newer)
		t.Check(err == nil && lacksRegistration(t, older), "the newer registration in the data API", fmt.Sprint(err))
	})
	r.It("REL-REG-03", "keeps the newer of two gas limits", func(t *suite.T) {
		older := r.freshRegistration(t)
		newer := r.newerGasLimit(t, older, gasLimit-1)
		checkTakes(t, sendRegistrations(t, newer), newer)
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
	r.It("REL-REG-04", "refuses a timestamp that lies a minute ahead", func(t *suite.T) {
		one := r.freshRegistration(t)
		one.Message.Timestamp = t.Now().Add(time.Minute).Truncate(time.Second)
		sign(t, one, r.validators(t)[t.World.Facts.Restless()])
		t.Status(sendRegistrations(t, one), http.StatusBadRequest)
		t.Check(lacksRegistration(t, one), "the registration not to be held", "it is in the data API")
	})
	r.It("REL-REG-04", "refuses a timestamp that lies 13 seconds ahead", func(t *suite.T) {
		one := r.freshRegistration(t)
		for range 3 { // on a busy machine the request may come when the timestamp is near enough
			one.Message.Timestamp = t.Now().Add(14 * time.Second).Truncate(time.Second)
			sign(t, one, r.validators(t)[t.World.Facts.Restless()])
			answer := sendRegistrations(t, one)
			if late := t.Now().Add(11 * time.Second); answer.Status == http.StatusOK && late.After(one.Message.Timestamp) {
				r.noteStamp(one) // it is held now
				continue
			}
			t.Status(answer, http.StatusBadRequest)
			return
		}
		t.Inconclusive("each request took so long that its timestamp was no more than 10 seconds ahead")
	})
	r.It("REL-REG-05", "refuses a key that is no validator", func(t *suite.T) {
		r.registerAll(t)
		nobody := registration(t, probe.DeriveBLSKey("nobody"), payee(1), t.Now())
		t.Status(sendRegistrations(t, nobody), http.StatusBadRequest)
	})
	r.It("REL-REG-05", "refuses a key that is no validator behind one that is", func(t *suite.T) {
		nobody := registration(t, probe.DeriveBLSKey("nobody"), payee(1), t.Now())
		t.Status(sendRegistrations(t, r.freshRegistration(t), nobody), http.StatusBadRequest)
	})
	r.It("REL-REG-06", "takes SSZ", func(t *suite.T) {
		one := r.freshRegistration(t)
		raw, err := one.MarshalSSZ()
		t.Ready(err, "encode a registration")
		answer := t.Do(proposerAPI(t), post(registerPath, sszType, raw))
		if answer.Status == http.StatusUnsupportedMediaType {
			t.Unsupported("415 to SSZ")
		}
		checkTakes(t, answer, one)
	})
	r.It("REL-REG-06", "keeps the last of an SSZ list", func(t *suite.T) {
		other := registration(t, r.validators(t)[0], payee(0), t.Now())
		one := r.freshRegistration(t)
		var body []byte
		for _, each := range []*builderv1.SignedValidatorRegistration{other, one} {
			raw, err := each.MarshalSSZ()
			t.Ready(err, "encode a registration")
			body = append(body, raw...)
		}
		answer := t.Do(proposerAPI(t), post("/eth/v1/builder/validators", sszType, body))
		allowUnsupported(t, answer, "SSZ")
		checkTakes(t, answer, one)
	})
	r.It("REL-REG-07", "stores the good one beside a bad one", func(t *suite.T) {
		good, bad := r.freshRegistration(t), registration(t, probe.DeriveBLSKey("nobody"), payee(1), t.Now())
		sendRegistrations(t, bad, good)
		err := waitHeld(t, good)
		t.Check(err == nil, "the good registration in the data API", err)
	})
	r.It("REL-REG-08", "takes an empty list", func(t *suite.T) {
		t.Status(t.Do(proposerAPI(t), post(registerPath, jsonType, []byte("[]"))), http.StatusOK)
		readsRegistrations(t)
	})
	r.It("REL-REG-09", "refuses what is not JSON", func(t *suite.T) {
		t.Status(t.Do(proposerAPI(t), post(registerPath, jsonType, []byte("not json"))), http.StatusBadRequest)
	})
	r.It("REL-REG-09", "refuses a list with something behind it", func(t *suite.T) {
		t.Status(t.Do(proposerAPI(t), post(registerPath, jsonType, []byte("[] x"))), http.StatusBadRequest)
		if t.World == nil {
			return
		}
		body := append(encode(t, []any{r.freshRegistration(t)}), ']')
		t.Status(t.Do(proposerAPI(t), post(registerPath, jsonType, body)), http.StatusBadRequest)
	})
	r.It("REL-REG-10", "refuses a registration without a field", func(t *suite.T) {
		for _, field := range []string{"fee_recipient", "gas_limit", "timestamp", "pubkey"} {
			message := map[string]string{"fee_recipient": "0x" + zeroHash[26:], "gas_limit": "1", "timestamp": "1",
				"pubkey": someKey}
			delete(message, field)
			body := encode(t, []any{map[string]any{"message": message, "signature": "0x" + fmt.Sprintf("%0192x", 0)}})
			t.Status(t.Do(proposerAPI(t), post(registerPath, jsonType, body)), http.StatusBadRequest)
		}
		if t.World == nil {
			return
		}
		one := r.freshRegistration(t) // nothing else is wrong with it: it is signed for a gas limit of 0
		one.Message.GasLimit = 0
		sign(t, one, r.validators(t)[t.World.Facts.Restless()])
		body := bytes.Replace(encode(t, []any{one}), []byte(`"gas_limit":"0",`), nil, 1)
		t.Check(!bytes.Contains(body, []byte("gas_limit")), "a body without gas_limit", string(body))
		t.Status(t.Do(proposerAPI(t), post(registerPath, jsonType, body)), http.StatusBadRequest)
		t.Check(lacksRegistration(t, one), "the registration not to be held", "it is in the data API")
	})
	r.It("REL-REG-11", "answers 415 to text/html", func(t *suite.T) {
		t.Status(t.Do(proposerAPI(t), post(registerPath, "text/html", []byte("[]"))), http.StatusUnsupportedMediaType)
	})
	r.It("REL-REG-12", "refuses SSZ of 181 bytes", func(t *suite.T) {
		answer := t.Do(proposerAPI(t), post(registerPath, sszType, bytes.Repeat([]byte{1}, 181)))
		if answer.Status == http.StatusUnsupportedMediaType {
			t.Unsupported("415 to SSZ")
		}
		t.Status(answer, http.StatusBadRequest)
		if t.World == nil {
			return
		}
		one := r.freshRegistration(t)
		raw, err := one.MarshalSSZ()
		t.Ready(err, "encode a registration")
		right := t.Preparing().Do(proposerAPI(t), post(registerPath, sszType, raw))
		if right.Status == http.StatusUnsupportedMediaType {
			t.Unsupported("415 to SSZ")
		}
		t.Prepared(right, "register in SSZ", http.StatusOK)
		t.Status(t.Do(proposerAPI(t), post(registerPath, sszType, append(raw, 1))), http.StatusBadRequest)
	})
	r.It("REL-REG-13", "tells builders of a newer registration", func(t *suite.T) {
		one := r.freshRegistration(t)
		checkTakes(t, sendRegistrations(t, one), one)
		err := dutyNames(t, one)
		t.Check(err == nil, "the newer registration among the duties", err)
	})
	r.It("REL-REG-13", "tells builders of a newer gas limit", func(t *suite.T) {
		one := r.freshRegistration(t)
		checkTakes(t, sendRegistrations(t, one), one)
		later := r.newerGasLimit(t, one, gasLimit-1)
		checkTakes(t, sendRegistrations(t, later), later)
		err := dutyCarries(t, later)
		t.Check(err == nil, "the newer registration among the duties", err)
	})
	r.It("REL-REG-14", "takes the same registration again", func(t *suite.T) {
		one := r.freshRegistration(t)
		checkTakes(t, sendRegistrations(t, one), one)
		checkTakes(t, sendRegistrations(t, one), one)
	})
	r.It("REL-REG-15", "takes many in one request", func(t *suite.T) {
		r.registerAll(t)
		var list []*builderv1.SignedValidatorRegistration
		for i, key := range r.validators(t)[:t.World.Facts.Restless()] {
			list = append(list, registration(t, key, payee(i), t.Now()))
		}
		list = append(list, r.freshRegistration(t))
		checkTakes(t, sendRegistrations(t, list...), list[len(list)-1])
	})
	r.It("REL-REG-15", "takes a thousand in one request", func(t *suite.T) {
		r.registerAll(t)
		keys := r.validators(t)[:t.World.Facts.Restless()]
		var list []*builderv1.SignedValidatorRegistration
		now := t.Now()
		for i, key := range keys {
			list = append(list, registration(t, key, payee(i), now))
		}
		for len(list) < 1000 { // clients send their registrations again in each epoch, and all at once
			list = append(list, list[len(list)-len(keys)])
		}
		list = append(list, r.freshRegistration(t))
		checkTakes(t, sendRegistrations(t, list...), list[len(list)-1])
	})
}

// describeForgedRegistrations adds specs about signatures that are wrong over what the relay holds
// already. A relay that compares what is said before it looks at the signature takes them.
func describeForgedRegistrations(r *specs) {
	// held makes a registration that the relay holds.
	held := func(t *suite.T) *builderv1.SignedValidatorRegistration {
		one := r.freshRegistration(t)
		t.Prepared(sendRegistrations(t.Preparing(), one), "register", http.StatusOK)
		t.Ready(waitHeld(t, one), "see the registration in the data API")
		return one
	}
	r.It("REL-REG-02", "refuses a signature of another key over what it holds", func(t *suite.T) {
		one := held(t)
		sign(t, one, probe.DeriveBLSKey("somebody else"))
		t.Status(sendRegistrations(t, one), http.StatusBadRequest)
	})
	r.It("REL-REG-02", "refuses a signature of another key over a later copy of what it holds", func(t *suite.T) {
		one, later := held(t), r.freshRegistration(t)
		later.Message.FeeRecipient = one.Message.FeeRecipient
		sign(t, later, probe.DeriveBLSKey("somebody else"))
		t.Status(sendRegistrations(t, later), http.StatusBadRequest)
		t.Check(lacksRegistration(t, later), "the registration not to be held", "it is in the data API")
	})
	r.It("REL-REG-17", "refuses a signature that is no point of the curve, over what it holds", func(t *suite.T) {
		one, later := held(t), r.freshRegistration(t)
		later.Message.FeeRecipient = one.Message.FeeRecipient
		for i := range later.Signature {
			later.Signature[i] = 0xff
		}
		t.Status(sendRegistrations(t, later), http.StatusBadRequest)
	})
}

// describeRenewals adds specs about registrations that repeat an earlier one with a later
// timestamp.
func describeRenewals(r *specs) {
	r.It("REL-REG-16", "keeps A of 1 and 3 when B of 2 comes last", func(t *suite.T) {
		first, between, last := r.renewTwice(t)
		checkTakes(t, sendRegistrations(t, first), first)
		t.Prepared(sendRegistrations(t.Preparing(), last), "register the same again, with a later time", http.StatusOK)
		_ = waitHeld(t, last) // another clause says whether it must be shown
		t.Status(sendRegistrations(t, between), http.StatusOK, http.StatusBadRequest)
		t.Until(t.Now().Add(heldWithin))
		t.Check(lacksRegistration(t, between), "the newest registration to stay", "the data API has the older one")
		for _, d := range list(t) {
			if d.Entry != nil && d.Entry.Message.Pubkey == last.Message.Pubkey {
				t.Check(d.Entry.Message.FeeRecipient != between.Message.FeeRecipient, "no duty with the older registration",
					"one for slot "+d.Slot)
			}
		}
	})
	r.It("REL-DAT-27", "answers a registration whose time alone is newer", func(t *suite.T) {
		first, _, last := r.renewTwice(t)
		t.Prepared(sendRegistrations(t.Preparing(), first), "register", http.StatusOK)
		t.Ready(waitHeld(t, first), "see the registration in the data API")
		checkTakes(t, sendRegistrations(t, last), last)
	})
}

// renewTwice makes three registrations of the restless validator in the order of their timestamps.
// The last one repeats the first one.
func (r *specs) renewTwice(t *suite.T) (first, between, last *builderv1.SignedValidatorRegistration) {
	first, between, last = r.freshRegistration(t), r.freshRegistration(t), r.freshRegistration(t)
	last.Message.FeeRecipient = first.Message.FeeRecipient
	sign(t, last, r.validators(t)[t.World.Facts.Restless()])
	return first, between, last
}

// heldWithin is how long a spec waits for the Data API before it concludes that a registration was
// not accepted.
const heldWithin = 300 * time.Millisecond

// lacksRegistration says whether the Data API has another registration than this one now, or none.
func lacksRegistration(t *suite.T, one *builderv1.SignedValidatorRegistration) bool {
	answer := t.Get(dataAPI(t), fmt.Sprintf("/relay/v1/data/validator_registration?pubkey=%#x", one.Message.Pubkey[:]))
	got := new(builderv1.SignedValidatorRegistration)
	return json.Unmarshal(answer.Body, got) != nil || *got.Message != *one.Message
}
