package eth

import "testing"

func TestParseDecimal(t *testing.T) {
	for text, want := range map[string]bool{
		"0": true, "7": true, "10": true, "9223372036854775807": true, "9223372036854775808": false, "01": false, "00": false,
		"+1": false, "-1": false,
		"": false, "0x1": false, "1e3": false, "1_0": false, " 1": false, "1 ": false, "1.0": false,
	} {
		if _, err := ParseDecimal(text, 63); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
