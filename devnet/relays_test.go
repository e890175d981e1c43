package devnet

import (
	"strings"
	"testing"
)

// The key of a further relay stands before its host; whatever else is written is refused with what
// to give instead.
func TestParseRelay(t *testing.T) {
	key := strings.Repeat("ab", 48)
	base, pubkey, err := ParseRelay("http://0x" + key + "@127.0.0.1:9062")
	if err != nil || base != "http://127.0.0.1:9062" || pubkey[47] != 0xab {
		t.Errorf("%s %x %v", base, pubkey, err)
	}
	for _, address := range []string{
		"", "http://127.0.0.1:9062", "0x" + key + "@127.0.0.1:9062", "ftp://0x" + key + "@host", "http://0x" + key + "@",
		"http://0xabcd@127.0.0.1:9062",
	} {
		if _, _, err := ParseRelay(address); err == nil || !strings.Contains(err.Error(), "relays has") {
			t.Errorf("%q: %v", address, err)
		}
		cfg := Config{Relays: []string{address}}
		if cfg.Validate() == nil {
			t.Errorf("%q is taken", address)
		}
	}
}
