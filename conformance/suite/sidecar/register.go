package sidecar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// batch makes signed registrations of validators that no other spec has.
func batch(t *suite.T, count int) []*builderv1.SignedValidatorRegistration {
	list := make([]*builderv1.SignedValidatorRegistration, count)
	name := t.Random.Uint64()
	for i := range list {
		key := probe.DeriveBLSKey(fmt.Sprintf("validator %d of %d, %s", i, name, t.Clause.ID))
		list[i] = &builderv1.SignedValidatorRegistration{Message: &builderv1.ValidatorRegistration{
			FeeRecipient: [20]byte{byte(i), 1}, GasLimit: 60_000_000, Timestamp: time.Now().Truncate(time.Second),
			Pubkey: key.Public,
		}}
		root, err := list[i].Message.HashTreeRoot()
		t.Ready(err, "hash a registration")
		list[i].Signature = key.Sign(probe.SigningRoot(root, t.Relays.Network.BuilderDomain()))
	}
	return list
}

func ssz(t *suite.T, list []*builderv1.SignedValidatorRegistration) (raw []byte) {
	for _, one := range list {
		entry, err := one.MarshalSSZ()
		t.Ready(err, "encode a registration")
		raw = append(raw, entry...)
	}
	return raw
}

func post(path, media string, body []byte) probe.Request {
	return probe.Request{Method: http.MethodPost, Path: path, Header: map[string]string{"Content-Type": media}, Body: body}
}

// send sends registrations as JSON.
func send(t *suite.T, list []*builderv1.SignedValidatorRegistration) *probe.Answer {
	raw, err := json.Marshal(list)
	t.Ready(err, "encode registrations")
	return t.Do(client(t), post(validatorPath, jsonType, raw))
}

// waitArrived waits until a relay has been sent a registration, and returns it decoded with those
// beside it. The spec fails if that does not happen.
func waitArrived(t *suite.T, relay *scripted.Relay,
	one *builderv1.SignedValidatorRegistration) (list []*builderv1.SignedValidatorRegistration) {
	err := t.Eventually(t.Target.Budgets.Settle(), func() error {
		heard := relay.Heard(scripted.Register, one.Message.Pubkey[:])
		if len(heard) == 0 {
			return fmt.Errorf("relay %s was sent no registration", relay.Name)
		}
		var problem error
		list, problem = decode(heard[len(heard)-1])
		return problem
	})
	t.Check(err == nil, "registrations at relay "+relay.Name, err)
	return list
}

// decode reads registrations as relays do.
func decode(asked scripted.Asked) (list []*builderv1.SignedValidatorRegistration, err error) {
	if !strings.HasPrefix(asked.Header.Get("Content-Type"), sszType) {
		return list, json.Unmarshal(asked.Body, &list)
	}
	const size = 180
	for raw := asked.Body; len(raw) > 0; raw = raw[size:] {
		one := new(builderv1.SignedValidatorRegistration)
		if len(raw) < size {
			return nil, fmt.Errorf("%d bytes are no registration", len(raw))
		}
		if err := one.UnmarshalSSZ(raw[:size]); err != nil {
			return nil, fmt.Errorf("read a registration: %w", err)
		}
		list = append(list, one)
	}
	return list, nil
}

// describeRegistering adds specs about POST /eth/v1/builder/validators.
func describeRegistering(s *suite.Set) {
	s.It("SID-REG-01", "sends registrations to each relay", func(t *suite.T) {
		list := batch(t, 2)
		t.Status(send(t, list), http.StatusOK)
		for _, relay := range t.Relays.All {
			waitArrived(t, relay, list[0])
		}
	})
	unchanged := func(t *suite.T, list []*builderv1.SignedValidatorRegistration, answer *probe.Answer) {
		t.Status(answer, http.StatusOK)
		for _, relay := range t.Relays.All {
			got := waitArrived(t, relay, list[0])
			t.Check(bytes.Equal(ssz(t, got), ssz(t, list)), "the registrations that were sent, in their order",
				fmt.Sprintf("others, %d of them", len(got)))
		}
	}
	s.It("SID-REG-02", "changes nothing in JSON", func(t *suite.T) {
		list := batch(t, 3)
		unchanged(t, list, send(t, list))
	})
	s.It("SID-REG-03", "sends a large batch whole", func(t *suite.T) {
		list := batch(t, 500)
		unchanged(t, list, send(t, list))
	})
	s.It("SID-REG-04", "takes SSZ", func(t *suite.T) {
		list := batch(t, 3)
		answer := t.Do(client(t), post(validatorPath, sszType, ssz(t, list)))
		if answer.Status == http.StatusUnsupportedMediaType {
			t.Unsupported("415 to SSZ")
		}
		unchanged(t, list, answer)
	})
	// told has relays answer registrations of a batch.
	told := func(list []*builderv1.SignedValidatorRegistration, say scripted.Answer, relays ...*scripted.Relay) {
		for _, relay := range relays {
			relay.On(scripted.Register, list[0].Message.Pubkey[:], say)
		}
	}
	s.It("SID-REG-05", "is content with one relay that takes them", func(t *suite.T) {
		list := batch(t, 1)
		told(list, scripted.Refuse(http.StatusBadRequest), t.Relays.All[0])
		told(list, scripted.HangUp, t.Relays.All[1])
		t.Status(send(t, list), http.StatusOK)
		waitArrived(t, t.Relays.All[2], list[0])
	})
	s.It("SID-REG-06", "does not say that they were taken when no relay takes them", func(t *suite.T) {
		t.Prepared(send(t, batch(t, 2)), "send registrations that relays take", http.StatusOK)
		list := batch(t, 1)
		told(list, scripted.Refuse(http.StatusBadRequest), t.Relays.All...)
		answer := send(t, list)
		t.Check(answer.Status >= http.StatusBadRequest, "a refusal", answer)
	})
	s.It("SID-REG-07", "does not wait for a relay that hangs before it asks the others", func(t *suite.T) {
		list := batch(t, 1)
		told(list, scripted.Hang, t.Relays.All[0])
		t.Status(send(t, list), http.StatusOK)
		for _, relay := range t.Relays.All[1:] {
			waitArrived(t, relay, list[0])
		}
	})
}
