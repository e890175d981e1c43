package bundle

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"github.com/holiman/uint256"
	"pgregory.net/rapid"
)

// Every client has its own way to write a number; all of them mean the same one.
func TestNumberTakesEveryClientsWay(t *testing.T) {
	for _, c := range []struct {
		by, json string
		want     Number
	}{
		{"ethers, web3-flashbots: maxBlockNumber", `19000000`, Number{19000000, true}},
		{"mev-share-client-ts, lmittmann: maxBlockNumber", `"0x121eac0"`, Number{19000000, true}},
		{"alloy: percent", `"0x5a"`, Number{90, true}},
		{"curl: decimal text", `"90"`, Number{90, true}},
		{"upper case", `"0X5A"`, Number{90, true}},
		{"leading zeros", `"0x005a"`, Number{90, true}},
		{"the greatest", `18446744073709551615`, Number{math.MaxUint64, true}},
		{"the greatest in hex", `"0xffffffffffffffff"`, Number{math.MaxUint64, true}},
		{"web3-flashbots: minTimestamp", `0`, Number{0, true}},
		{"mev-share-go: maxBlock", `"0x0"`, Number{0, true}},
		{"lmittmann: maxBlockNumber unset", `null`, Number{}},
		{"BuilderNet: the next block", `"0x"`, Number{}},
	} {
		var got Number
		if err := got.Read([]byte(c.json)); err != nil || got != c.want {
			t.Errorf("%s: %s is %v, %v; want %v", c.by, c.json, got, err, c.want)
		}
	}
}

func TestNumberRefuses(t *testing.T) {
	for _, text := range []string{
		`1.5`, `1.0`, `1e3`, `-1`, `-0`, `"-1"`, `"-0x1"`, `"+1"`, `18446744073709551616`, `"0x10000000000000000"`, `""`,
		`" 1"`, `"1_000"`, `"0x1_0"`,
		`"0b1"`, `"ten"`, `"0xg"`, `true`, `[]`, `{}`, `0x10`,
	} {
		var got Number
		if err := got.Read([]byte(text)); err == nil || err.Error() != errNumber.Error() {
			t.Errorf("%s: %v, %v; want %q", text, got, err, errNumber)
		}
	}
}

func TestBigNumber(t *testing.T) {
	top := new(uint256.Int).SetAllOne()
	for text, want := range map[string]*uint256.Int{
		`null`: nil, `"0x"`: nil, `0`: uint256.NewInt(0), `"0x0"`: uint256.NewInt(0), `"0x000"`: uint256.NewInt(0),
		`7`:   uint256.NewInt(7),
		`"7"`: uint256.NewInt(7), `"0x07"`: uint256.NewInt(7), `"` + top.Hex() + `"`: top, `"` + top.Dec() +
			`"`: top, top.Dec(): top,
	} {
		var got BigNumber
		if err := got.Read([]byte(text)); err != nil || (got.Value == nil) != (want == nil) || want != nil &&
			!got.Value.Eq(want) {
			t.Errorf("%s is %v, %v; want %v", text, got.Value, err, want)
		}
	}
	for _, text := range []string{
		`-1`, `1.5`, `1e3`, `"+1"`, `""`, `"1` + top.Dec() + `"`, `"0x1` + top.Hex()[2:] + `"`, `"0xg"`, `true`,
		`[]`, `"0x+1"`,
	} {
		var got BigNumber
		if err := got.Read([]byte(text)); err == nil || err.Error() != errBigNumber.Error() {
			t.Errorf("%s: %v, %v; want %q", text, got.Value, err, errBigNumber)
		}
	}
}

// A percentage may be out of range, whichever way: its list's rule says so with its own message.
func TestPercentForms(t *testing.T) {
	for text, want := range map[string]Percent{
		`90`: 90, `"0x5a"`: 90, `"90"`: 90, `0`: 0, `null`: 0, `"0x"`: 0, `101`: 101, `-1`: -1, `"-1"`: -1,
		`99999999999`:           math.MaxInt32,
		`-99999999999999999999`: -math.MaxInt32,
	} {
		var got Percent
		if err := got.Read([]byte(text)); err != nil || got != want {
			t.Errorf("%s is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{`90.5`, `""`, `"x"`, `true`, `{}`, `"--1"`} {
		var got Percent
		if err := got.Read([]byte(text)); err == nil {
			t.Errorf("%s is %d; want a refusal", text, got)
		}
	}
}

// All ways to write a number are the same number, whichever it is.
func TestNumberProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Uint64().Draw(t, "number")
		decimal := strconv.FormatUint(want, 10)
		for _, text := range []string{decimal, strconv.Quote(decimal), `"0x` + strconv.FormatUint(want, 16) + `"`} {
			var number Number
			var big BigNumber
			if err := number.Read(json.RawMessage(text)); err != nil || number.Value != want || !number.Set {
				t.Fatalf("%s is %v, %v", text, number, err)
			}
			if err := big.Read(json.RawMessage(text)); err != nil || big.Value.Uint64() != want {
				t.Fatalf("%s is %v, %v", text, big.Value, err)
			}
		}
	})
}
