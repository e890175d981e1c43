package bundle

import (
	"fmt"
	"testing"
	"time"
)

// A timeout counts seconds in literal mode, and seconds up to 30, milliseconds above otherwise. The
// base fee is the parent's in literal mode.
func TestSimulationTimeouts(t *testing.T) {
	for timeout, want := range map[string]map[bool]time.Duration{
		`3`: {false: 3 * time.Second, true: 3 * time.Second}, `"0x1e"`: {false: 30 * time.Second, true: 30 * time.Second},
		`100`: {false: 100 * time.Millisecond, true: 30 * time.Second}, `18446744073709551615`: {false: 30 * time.Second,
			true: 30 * time.Second},
		`0`: {false: 0, true: 0},
	} {
		for literal, want := range want {
			in := intake()
			in.Limits.Literal = literal
			params := fmt.Sprintf(share+`"body":[{"tx":"$A"}],"validity":{"refund":[],"refundConfig":[]}},{"timeout":%s}]`,
				timeout)
			got, err := ReadSimBundle(fill(params), in)
			if err != nil {
				t.Fatal(err)
			}
			if got.Environment.Timeout != want || got.Environment.ParentBaseFee != literal {
				t.Errorf("timeout %s, literal %t: %+v", timeout, literal, got.Environment)
			}
		}
	}
}

// Options may be spelled as all clients do, as numbers or text, inside of the bundle or after it.
func TestSimulationSpellings(t *testing.T) {
	for _, options := range []string{
		`,"simOptions":{"number":"0x66","time":1300,"baseFee":"0x7"}}]`, `},{"number":102,"time":"0x514","baseFee":7}]`,
		`},{"blockNumber":"102","timestamp":"1300","baseFee":"7"}]`,
		`,"simOptions":{"number":1,"time":2,"baseFee":3}},{"blockNumber":102,"timestamp":1300,"baseFee":"0x07"}]`,
		`},{"number":102,"blockNumber":"0x66","time":1300,"timestamp":"0x514","baseFee":7}]`,
	} {
		got, err := ReadSimBundle(fill(share+`"body":[{"tx":"$A"}]`+options), intake())
		if err != nil {
			t.Fatal(err)
		}
		if env := got.Environment; env.Number != 102 || env.Timestamp != 1300 || env.BaseFeeWei.Uint64() != 7 {
			t.Errorf("%s: %+v", options, env)
		}
	}
}
