package eth

import (
	"encoding/hex"
	"fmt"
)

// ParseHex fills into with the bytes of hexadecimal digits after 0x. There must be exactly as many
// bytes; digits may be in any letter case.
func ParseHex(text string, into []byte) error {
	if len(text) != 2+2*len(into) || text[0] != '0' || text[1] != 'x' {
		return fmt.Errorf("want 0x and %d hexadecimal digits", 2*len(into))
	}
	if _, err := hex.Decode(into, []byte(text[2:])); err != nil {
		return fmt.Errorf("want 0x and %d hexadecimal digits", 2*len(into))
	}
	return nil
}
