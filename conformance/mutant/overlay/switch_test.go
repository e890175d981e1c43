package overlay

import (
	"testing"
	"time"
)

// What operators and newcomers build has nothing to switch on.
func TestOrdinaryProgramHasNothingToSwitchOn(t *testing.T) {
	if err := Switch("relay-second-block"); err == nil || On("relay-second-block") {
		t.Errorf("switched on what is not there: %v", err)
	}
}

// The fork begins with its first second, and a network of one fork has no second one.
func TestForked(t *testing.T) {
	defer ForkAt(time.Time{})
	at := time.Unix(1_700_000_000, 0)
	if Forked(at) {
		t.Error("a time is in the second fork of a network that has one")
	}
	ForkAt(at)
	if !Forked(at) || Forked(at.Add(-1)) {
		t.Error("the fork does not begin when it begins")
	}
}
