package scenarios

import (
	"strings"
	"testing"
)

// Every scenario says why it is told, expects something, and can be taken what it is about.
func TestLibrary(t *testing.T) {
	for _, name := range Names() {
		p, err := Open(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.Name != name || len(strings.Fields(p.Why)) < 20 {
			t.Errorf("%s: say in a paragraph why it is told", name)
		}
		if len(p.Expect) == 0 || !p.HasKey() {
			t.Errorf("%s: it has %d expectations, and a key: %v", name, len(p.Expect), p.HasKey())
		}
		if _, err := p.Without(); err != nil {
			t.Errorf("%s without its key: %v", name, err)
		}
	}
}

func TestOpenUnknown(t *testing.T) {
	if _, err := Open("no such story"); err == nil || !strings.Contains(err.Error(), Names()[0]) {
		t.Errorf("got %v", err)
	}
}
