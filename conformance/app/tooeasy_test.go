package app

import (
	"slices"
	"strings"
	"testing"
)

// An entry that is no longer needed would let its clause become too easy again unseen.
func TestUnlike(t *testing.T) {
	listed := []string{"REL-STA-01", "REL-STA-02"}
	if list := describeDifference(listed, "200"); len(list) > 0 {
		t.Errorf("what passes is what is listed, and yet: %q", list)
	}
	list := describeDifference([]string{"REL-STA-01", "REL-HDR-01"}, "200")
	if len(list) != 2 || !slices.ContainsFunc(list, func(text string) bool {
		return strings.HasPrefix(text, "REL-HDR-01 passes on")
	}) || !slices.ContainsFunc(list, func(text string) bool {
		return strings.HasPrefix(text, "REL-STA-02 no longer passes")
	}) {
		t.Errorf("one passes that is not listed, one is listed that does not pass: %q", list)
	}
}
