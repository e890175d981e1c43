package jsonscan

import (
	"bytes"
	"encoding/hex"
	"testing"

	"pgregory.net/rapid"
)

// Unhex agrees with encoding/hex about every text, in particular about every single byte in every
// place of a word.
func TestUnhexIsHex(t *testing.T) {
	agree := func(t rapid.TB, digits []byte) {
		want := make([]byte, len(digits)/2)
		_, wantErr := hex.Decode(want, digits)
		got := make([]byte, len(digits)/2)
		if err := Unhex(got, digits); (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, want) {
			t.Fatalf("%q: %x, %v, want %x, %v", digits, got, err, want, wantErr)
		}
	}
	for b := range 256 {
		for place := range 14 {
			digits := []byte("0123456789abcd")
			digits[place] = byte(b)
			agree(t, digits)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		digits := []byte(rapid.StringMatching(`([0-9a-fA-F]{2}){0,40}`).Draw(t, "digits"))
		if len(digits) > 0 && rapid.Bool().Draw(t, "bend") {
			digits[rapid.IntRange(0, len(digits)-1).Draw(t, "place")] = rapid.Byte().Draw(t, "byte")
		}
		agree(t, digits)
	})
}

func BenchmarkUnhex(b *testing.B) {
	digits, into := bytes.Repeat([]byte("0f"), 131072), make([]byte, 131072)
	for name, decode := range map[string]func() error{
		"table":        func() error { return Unhex(into, digits) },
		"encoding-hex": func() error { _, err := hex.Decode(into, digits); return err },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(digits)))
			for b.Loop() {
				if err := decode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
