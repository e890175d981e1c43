package dataset

import (
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Hexadecimal text is what the standard library says, in either case, and nothing else is.
func TestParseHex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringMatching(`[0-9a-fA-F]{8}`).Draw(t, "digits"))
		if rapid.Bool().Draw(t, "spoil") {
			text[rapid.IntRange(0, 7).Draw(t, "at")] = rapid.Byte().Draw(t, "by")
		}
		want, wrong := hex.DecodeString(string(text))
		for _, prefix := range []string{"0x", "0X"} {
			var got [4]byte
			known, err := parseHex(prefix+string(text), got[:])
			if known != (wrong == nil) || (err == nil) != (wrong == nil) || known && string(got[:]) != string(want) {
				t.Fatalf("%q: %x, %t, %v; want %x, %v", text, got, known, err, want, wrong)
			}
		}
	})
	for _, text := range []string{"0x", "0x123", "0x" + strings.Repeat("1", 7), "0x" + strings.Repeat("1", 9), "12345678",
		"x0345678"} {
		if known, err := parseHex(text, make([]byte, 4)); known || err == nil {
			t.Errorf("%q passed", text)
		}
	}
}
