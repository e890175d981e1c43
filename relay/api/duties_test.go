package api

import (
	"encoding/json"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

const validatorsPath = "GET /relay/v1/builder/validators"

func duty(slot phase0.Slot) relay.RegisteredDuty {
	key := phase0.BLSPubKey{byte(slot)}
	return relay.RegisteredDuty{
		Duty: relay.Duty{Slot: slot, Index: 7, Proposer: key},
		Registration: &relay.SignedRegistration{Message: &builderv1.ValidatorRegistration{
			Pubkey: key, GasLimit: 36_000_000, Timestamp: time.Unix(1_700_000_000, 0),
		}},
	}
}

func TestValidatorsWithoutDuties(t *testing.T) {
	answer := askHandler(t, new(builderFakePorts).handler(), validatorsPath, "", nil)
	if answer.Code != 200 || answer.Body.String() != "[]" || answer.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

// The list is that of relay-specs, read here as a builder reads it.
func TestValidators(t *testing.T) {
	d := &builderFakePorts{duties: []relay.RegisteredDuty{duty(65), duty(70)}}
	answer := askHandler(t, d.handler(), validatorsPath, "", nil)
	var list []struct {
		Slot           string                    `json:"slot"`
		ValidatorIndex string                    `json:"validator_index"`
		Entry          *relay.SignedRegistration `json:"entry"`
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &list); err != nil {
		t.Fatalf("%v: %s", err, answer.Body)
	}
	if len(list) != 2 || list[0].Slot != "65" || list[1].Slot != "70" || list[0].ValidatorIndex != "7" ||
		*list[0].Entry.Message != *d.duties[0].Registration.Message {
		t.Errorf("%s", answer.Body)
	}
}

// A list is encoded once, and again when its version is another one.
func TestValidatorsFollowChanges(t *testing.T) {
	d := &builderFakePorts{duties: []relay.RegisteredDuty{duty(65), duty(70)}, version: 1}
	handler := d.handler()
	first := askHandler(t, handler, validatorsPath, "", nil).Body.String()
	if again := askHandler(t, handler, validatorsPath, "", nil).Body.String(); again != first {
		t.Errorf("the same duties read %s and %s", first, again)
	}
	changed := *d.duties[1].Registration.Message
	changed.GasLimit++
	d.duties[1].Registration, d.version = &relay.SignedRegistration{Message: &changed}, 2
	second := askHandler(t, handler, validatorsPath, "", nil).Body.String()
	d.duties, d.version = d.duties[:1], 3
	third := askHandler(t, handler, validatorsPath, "", nil).Body.String()
	d.duties, d.version = nil, 4
	if fourth := askHandler(t, handler, validatorsPath, "", nil).Body.String(); second == first || third == second ||
		fourth != "[]" {
		t.Errorf("a change does not show:\n%s\n%s\n%s\n%s", first, second, third, fourth)
	}
}

func TestValidatorsAreEncodedOnceAVersion(t *testing.T) {
	var list dutyList
	duties := []relay.RegisteredDuty{duty(65)}
	first, err := list.encode(duties, 1)
	if err != nil {
		t.Fatal(err)
	}
	second, err := list.encode(duties, 1)
	if err != nil || &first[0] != &second[0] {
		t.Errorf("encoded anew: %v", err)
	}
	if allocations := testing.AllocsPerRun(100, func() { _, _ = list.encode(duties, 1) }); allocations != 0 {
		t.Errorf("%v allocations for a list that is encoded already", allocations)
	}
}
