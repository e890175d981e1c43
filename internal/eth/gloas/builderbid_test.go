package gloas

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

// A blinded envelope has the root of the envelope that it stands for, whatever is in that.
func TestBlindedEnvelopeHasTheRootOfTheWhole(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		whole := new(ExecutionPayloadEnvelope)
		fill(random, reflect.ValueOf(whole).Elem(), "")
		want, err := Mainnet.ExecutionPayloadEnvelope.Root(whole)
		if err != nil {
			t.Fatal(err)
		}
		blinded := &BlindedExecutionPayloadEnvelope{BuilderIndex: whole.BuilderIndex,
			BeaconBlockRoot: whole.BeaconBlockRoot, ParentBeaconBlockRoot: whole.ParentBeaconBlockRoot}
		if blinded.PayloadRoot, err = Mainnet.ExecutionPayload.Root(whole.Payload); err != nil {
			t.Fatal(err)
		}
		if blinded.ExecutionRequestsRoot, err = Mainnet.ExecutionRequests.Root(whole.ExecutionRequests); err != nil {
			t.Fatal(err)
		}
		if got, err := Mainnet.BlindedEnvelope.Root(blinded); err != nil || got != want {
			t.Fatalf("root %x, %v; the whole has %x", got, err, want)
		}
	}
}
