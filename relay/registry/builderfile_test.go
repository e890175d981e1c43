package registry

import (
	"strings"
	"testing"
)

// What is no list is refused, also where the library would panic.
func TestParseRefusesWhatIsNoList(t *testing.T) {
	for _, text := range []string{"!0 000", "{", "- name: [", "name: x"} {
		list, err := ParseBuilders([]byte(text))
		if err == nil || list != nil || !strings.HasPrefix(err.Error(), "read list of builders: ") {
			t.Errorf("%q: %v, %v", text, list, err)
		}
	}
	if list, err := ParseBuilders(nil); err != nil || len(list) != 0 {
		t.Errorf("an empty file: %v, %v", list, err)
	}
}
