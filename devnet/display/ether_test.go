package display

import (
	"testing"

	"github.com/holiman/uint256"
)

func TestEther(t *testing.T) {
	for wei, want := range map[string]string{
		"0":                         "0 ETH",
		"1":                         "1 wei",
		"999999":                    "999999 wei",
		"1000000":                   "0.001 gwei",
		"999999999999":              "999.999 gwei",
		"1000000000000":             "0.000001 ETH",
		"12345678999999999":         "0.012345 ETH", // cut off, not rounded up
		"1000000000000000000":       "1.000000 ETH",
		"123456789012345678901234":  "123456.789 ETH",
		"999999999999999999999":     "999.999999 ETH",
		"1000000000000000000000":    "1000.000 ETH",
		"9007199254740993000000000": "9007199.254 ETH", // no float has this number
	} {
		if got := Ether(uint256.MustFromDecimal(wei)); got != want {
			t.Errorf("%s wei is %q, want %q", wei, got, want)
		}
	}
	if got := Ether(nil); got != "0 ETH" {
		t.Errorf("nil is %q", got)
	}
}

func TestSparkline(t *testing.T) {
	huge := new(uint256.Int).SetAllOne()
	for _, c := range []struct {
		name   string
		values []*uint256.Int
		want   string
	}{
		{"none", nil, ""},
		{"one", gwei(5), "▄"},
		{"all the same", gwei(5, 5, 5), "▄▄▄"},
		{"rising", gwei(0, 1, 2, 3, 4, 5, 6, 7), "▁▂▃▄▅▆▇█"},
		{"a cancellation falls", gwei(0, 7, 3), "▁█▄"},
		{"the greatest numbers", []*uint256.Int{new(uint256.Int), huge}, "▁█"},
		{"more than fit, the last one always there", gwei(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7), "▁▂▃▄▅▆▇█"},
	} {
		if got := Sparkline(c.values, 8); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := Sparkline(gwei(1), 0); got != "" {
		t.Errorf("no room, but %q", got)
	}
}
