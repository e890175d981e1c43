package beacon

import (
	"encoding/json"
	"testing"
)

// A builder's version is read in each form in which nodes write it; one that cannot be read does
// not count.
func TestVersionOfBuilder(t *testing.T) {
	for raw, want := range map[string]uint8{
		`"0"`: 0, `"1"`: 1, `0`: 0, `"0x00"`: 0, `"0x01"`: 1, `"256"`: unreadVersion, `""`: unreadVersion,
		``: unreadVersion, `{}`: unreadVersion, `null`: unreadVersion,
	} {
		if got := versionOf(json.RawMessage(raw)); got != want {
			t.Errorf("%s: %d, want %d", raw, got, want)
		}
	}
}
