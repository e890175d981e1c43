package inside

import "testing"

// What operators and newcomers build has nothing to switch on.
func TestOrdinaryProgramHasNothingToSwitchOn(t *testing.T) {
	if err := Switch("relay-second-block"); err == nil || On("relay-second-block") {
		t.Errorf("switched on what is not there: %v", err)
	}
}
