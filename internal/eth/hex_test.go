package eth

import "testing"

func TestParseHex(t *testing.T) {
	for text, good := range map[string]bool{
		"0xAbcD": true, "0XabcD": false, "abcd": false, "0xabc": false, "0xabcdef": false, "0xabcg": false,
		"": false, "0x": false,
	} {
		into := make([]byte, 2)
		if err := ParseHex(text, into); (err == nil) != good || (good && into[1] != 0xcd) {
			t.Errorf("%q: %x, %v", text, into, err)
		}
	}
}
