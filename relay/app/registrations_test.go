package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
)

// payee is a validator's registered fee recipient.
func payee(index phase0.ValidatorIndex) bellatrix.ExecutionAddress {
	return bellatrix.ExecutionAddress{0xfe, 0xab, byte(index)}
}

// registration of a validator, dated now unless the test changes it and signs again.
func (h *relayUnderTest) registration(index phase0.ValidatorIndex) *builderv1.SignedValidatorRegistration {
	key := h.beacon.ValidatorKey(index)
	r := &builderv1.SignedValidatorRegistration{Message: &builderv1.ValidatorRegistration{
		FeeRecipient: payee(index), GasLimit: network.GasLimit, Timestamp: h.clock.Now().Truncate(time.Second),
		Pubkey: key.PublicKey(),
	}}
	h.signRegistration(r, key)
	return r
}

func (h *relayUnderTest) signRegistration(r *builderv1.SignedValidatorRegistration, key *bls.SecretKey) {
	r.Signature = key.Sign(eth.SigningRoot(rootOf(r.Message), h.spec.BuilderDomain()))
}

func (h *relayUnderTest) registerAll(t testing.TB) {
	t.Helper()
	without, _ := h.duty(unregisteredSlot)
	var list []*builderv1.SignedValidatorRegistration
	for index := range phase0.ValidatorIndex(validatorCount) {
		if index != without {
			list = append(list, h.registration(index))
		}
	}
	if got := h.register(t, list...); got.status != http.StatusOK {
		t.Fatalf("registrations: %s", got)
	}
}

func (h *relayUnderTest) register(t testing.TB, list ...*builderv1.SignedValidatorRegistration) answer {
	t.Helper()
	raw, err := json.Marshal(list)
	must(t, err)
	return h.post(t, "/eth/v1/builder/validators", jsonHeader(), raw)
}

// registered is what the relay tells builders of the auction's proposer.
func (h *relayUnderTest) registered(t testing.TB) *builderv1.SignedValidatorRegistration {
	t.Helper()
	got := h.get(t, "/relay/v1/builder/validators", nil)
	var list []struct {
		Slot  string                                 `json:"slot"`
		Entry *builderv1.SignedValidatorRegistration `json:"entry"`
	}
	if err := json.Unmarshal(got.body, &list); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	for _, duty := range list {
		if duty.Slot == fmt.Sprint(h.slot) {
			return duty.Entry
		}
	}
	return nil
}
