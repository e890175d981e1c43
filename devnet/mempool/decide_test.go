package mempool

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var rules = Rules{TransferGas: 21_000, ByteGas: 40, MaxSenders: 3}

// flowOf reads rows of the form "ms sender nonce type tip fee bytes to": fees in gwei, a recipient
// of - creates a contract. A row is another transaction than one with another text.
func flowOf(t testing.TB, f *Flow, rows string) *Flow {
	t.Helper()
	for line := range strings.Lines(strings.TrimSpace(rows)) {
		var sender, to string
		var ms int64
		var tip, fee float64
		row := Transaction{ValueWei: 7}
		_, err := fmt.Sscan(line, &ms, &sender, &row.Nonce, &row.Type, &tip, &fee, &row.Bytes, &to)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		row.At, row.TipWei, row.FeeWei = time.UnixMilli(1_700_000_000_000+ms), uint64(tip*gwei), uint64(fee*gwei)
		row.NonZero = row.Bytes / 2
		copy(row.From[:], sender)
		_, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		row.Hash = sha256.Sum256([]byte(rest))
		if row.Type < 2 {
			row.TipWei = row.FeeWei
		}
		if to != "-" {
			row.To = new([20]byte)
			copy(row.To[:], to)
		}
		f.Add(&row)
	}
	return f
}

func textOf(p *Plan) string {
	var out strings.Builder
	for _, s := range p.Steps {
		fmt.Fprintf(&out, "%v account %d nonce %d type %d", s.After, s.Sender, s.Nonce, s.Type)
		if s.Type == 2 {
			fmt.Fprintf(&out, " tip %g", float64(s.TipWei)/gwei)
		}
		fmt.Fprintf(&out, " fee %g gas %d bytes %d", float64(s.FeeWei)/gwei, s.Gas, s.Bytes)
		if s.Creates {
			out.WriteString(" creates")
		}
		if s.Replaces {
			out.WriteString(" replaces")
		}
		out.WriteByte('\n')
	}
	for _, why := range slices.Sorted(maps.Keys(p.Left)) {
		fmt.Fprintf(&out, "left %d: %s\n", p.Left[why], why)
	}
	for _, what := range slices.Sorted(maps.Keys(p.Changed)) {
		fmt.Fprintf(&out, "changed %d: %s\n", p.Changed[what], what)
	}
	return out.String()
}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct{ rows, want string }{
		"nonces begin at 0, in their order, at the file's times": {`
0   a 17 2 1 30 0 x
500 b 4  0 0 20 0 x
100 a 18 2 2 30 0 y`, `
0s account 0 nonce 0 type 2 tip 1 fee 30 gas 21000 bytes 0
100ms account 0 nonce 1 type 2 tip 2 fee 30 gas 21000 bytes 0
500ms account 1 nonce 0 type 0 fee 20 gas 21000 bytes 0`},
		"rows out of order, and a nonce that is seen before the one before it": {`
900 a 8 2 1 30 0 x
0   b 0 2 1 30 0 x
950 a 7 2 1 30 0 x`, `
0s account 0 nonce 0 type 2 tip 1 fee 30 gas 21000 bytes 0
900ms account 1 nonce 1 type 2 tip 1 fee 30 gas 21000 bytes 0
950ms account 1 nonce 0 type 2 tip 1 fee 30 gas 21000 bytes 0`},
		"a gap within is closed": {`
0 a 3 2 1 30 0 x
1 a 6 2 1 30 0 x
2 a 7 2 1 30 0 x`, `
0s account 0 nonce 0 type 2 tip 1 fee 30 gas 21000 bytes 0
1ms account 0 nonce 1 type 2 tip 1 fee 30 gas 21000 bytes 0
2ms account 0 nonce 2 type 2 tip 1 fee 30 gas 21000 bytes 0
changed 2: nonce moved over a gap`},
		"a replacement stays one, what pools would not take is left out": {`
0 a 3 2 1   30 0 x
1 a 3 2 1.1 33 0 y
2 a 3 2 1.1 33 0 y
3 a 3 2 1.2 99 0 y
4 a 4 0 0   20 0 x
5 a 4 2 90  90 0 x`, `
0s account 0 nonce 0 type 2 tip 1 fee 30 gas 21000 bytes 0
1ms account 0 nonce 0 type 2 tip 1.1 fee 33 gas 21000 bytes 0 replaces
4ms account 0 nonce 1 type 0 fee 20 gas 21000 bytes 0
5ms account 0 nonce 1 type 2 tip 90 fee 100 gas 21000 bytes 0 replaces
left 1: same nonce, and fees not 10 % higher
left 1: same transaction again
changed 1: fee cap raised to 10 gwei above the tip`},
		"of a replacement whose fees were raised, the raised fees are replaced": {`
0 a 3 0 0 0.1 0 x
1 a 3 0 0 0.2 0 x
2 a 3 2 1 1 0 y`, `
0s account 0 nonce 0 type 0 fee 2 gas 21000 bytes 0
1ms account 0 nonce 0 type 0 fee 2.2 gas 21000 bytes 0 replaces
2ms account 0 nonce 0 type 2 tip 2.42 fee 11 gas 21000 bytes 0 replaces
changed 1: fee cap raised to 10 gwei above the tip
changed 2: fees of a replacement raised to 10 % more
changed 2: gas price raised to 2 gwei`},
		"lengths of calldata and init code": {`
0 a 0 2 1 30 100 x
1 a 1 1 0 30 64 -
2 a 2 2 1 30 49153 -
3 a 3 2 1 30 130049 x
4 a 4 2 1 30 0 -`, `
0s account 0 nonce 0 type 2 tip 1 fee 30 gas 25000 bytes 100
1ms account 0 nonce 1 type 1 fee 30 gas 55566 bytes 64 creates
4ms account 0 nonce 2 type 2 tip 1 fee 30 gas 53002 bytes 0 creates
left 1: calldata longer than a pool takes
left 1: init code longer than a chain takes
changed 1: calldata sent to a plain account, zeros and others of the same number
changed 1: init code that stops at once, of the same length
changed 1: nonce moved over a gap`},
		"types that cannot be sent": {`
0 a 0 3 1 30 0 x
1 a 1 4 1 30 0 x
2 a 2 9 1 30 0 x
3 a 3 2 1 30 0 x`, `
3ms account 0 nonce 0 type 2 tip 1 fee 30 gas 21000 bytes 0
left 1: blob transaction: its blobs are not in the file
left 1: sets code of accounts (type 4)
left 1: type that the devnet does not know`},
		"more senders than accounts": {`
0 a 0 2 1 30 0 x
1 b 0 2 1 30 0 x
2 c 0 2 1 30 0 x
3 d 0 2 1 30 0 x
4 a 1 2 1 30 0 x`, `
0s account 0 nonce 0 type 2 tip 1 fee 30 gas 21000 bytes 0
1ms account 1 nonce 0 type 2 tip 1 fee 30 gas 21000 bytes 0
2ms account 2 nonce 0 type 2 tip 1 fee 30 gas 21000 bytes 0
4ms account 0 nonce 1 type 2 tip 1 fee 30 gas 21000 bytes 0
left 1: of more senders than there are accounts`},
		"fees that no node takes": {`
0 a 0 2 5e8 1e9 0 x
1 a 0 2 9e8 9e9 0 x
2 a 1 0 0 1e9 0 x`, `
0s account 0 nonce 0 type 2 tip 42847.142857142 fee 42857.142857142 gas 21000 bytes 0
2ms account 0 nonce 1 type 0 fee 42857.142857142 gas 21000 bytes 0
left 1: replaces one whose fees are the most that is sent
changed 2: tip or price lowered to what a node takes`},
	} {
		got := textOf(flowOf(t, new(Flow), c.rows).Decide(rules))
		if strings.TrimSpace(got) != strings.TrimSpace(c.want) {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// What comes after the end of the run is counted, wherever it stands in the file.
func TestDecideWithinTheRun(t *testing.T) {
	p := flowOf(t, &Flow{For: time.Second}, `
900  a 0 2 1 30 0 x
1900 b 0 2 1 30 0 x
1899 c 0 2 1 30 0 x
500  d 5 2 1 30 0 x
1499 d 6 2 1 30 0 x
1500 d 7 2 1 30 0 x`).Decide(rules)
	const want = `0s account 0 nonce 0 type 2 tip 1 fee 30 gas 21000 bytes 0
400ms account 1 nonce 0 type 2 tip 1 fee 30 gas 21000 bytes 0
999ms account 0 nonce 1 type 2 tip 1 fee 30 gas 21000 bytes 0
left 3: after the end of the run
`
	if got := textOf(p); got != want || p.Rows != 6 || p.Senders != 2 || p.Nonces != 3 {
		t.Errorf("%d senders, %d nonces\n%s", p.Senders, p.Nonces, got)
	}
}

// A time of another century is after the end of any run, and changes nothing else.
func TestDecideFarTimes(t *testing.T) {
	f := flowOf(t, new(Flow), "0 a 0 2 1 30 0 x\n5 a 1 2 1 30 0 x")
	f.Add(&Transaction{At: time.Date(9998, 1, 1, 0, 0, 0, 0, time.UTC), From: [20]byte{1}, To: new([20]byte)})
	const want = `0s account 0 nonce 0 type 2 tip 1 fee 30 gas 21000 bytes 0
5ms account 0 nonce 1 type 2 tip 1 fee 30 gas 21000 bytes 0
left 1: after the end of the run
`
	if got := textOf(f.Decide(rules)); got != want {
		t.Error(got)
	}
}

// Whatever the rows are, each is sent or left out once, times and lengths are the file's, nonces of
// an account are 0, 1, 2 and so on, and a replacement pays a tenth more than what it replaces.
func TestPlansAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := &Flow{For: time.Duration(rapid.Int64Range(0, 3e9).Draw(rt, "for"))}
		n := rapid.IntRange(0, 40).Draw(rt, "rows")
		for range n {
			row := Transaction{
				At:   time.UnixMilli(rapid.Int64Range(1e12, 1e12+2000).Draw(rt, "ms")),
				From: [20]byte{rapid.ByteMax(5).Draw(rt, "from")}, To: &[20]byte{},
				Hash: [32]byte{rapid.Byte().Draw(rt, "hash")}, Type: rapid.Int64Range(-1, 5).Draw(rt, "type"),
				Nonce: rapid.Uint64Range(0, 5).Draw(rt, "nonce"), ValueWei: rapid.Uint64().Draw(rt, "value"),
				TipWei: rapid.Uint64().Draw(rt, "tip"), FeeWei: rapid.Uint64().Draw(rt, "fee"),
				Bytes: rapid.Uint64Range(0, 200_000).Draw(rt, "bytes"), NonZero: rapid.Uint64().Draw(rt, "non-zero"),
			}
			if rapid.Bool().Draw(rt, "creates") {
				row.To = nil
			}
			f.Add(&row)
		}
		f.LeaveOut(WhyBad)
		p := f.Decide(rules)
		left := int64(0)
		for _, one := range p.Left {
			left += one
		}
		if p.Rows != int64(n)+1 || left+int64(len(p.Steps)) != p.Rows {
			rt.Fatalf("%d rows: %d sent, %v", p.Rows, len(p.Steps), p.Left)
		}
		newest, nonces := map[string]Step{}, map[int]map[uint64]bool{}
		for i, s := range p.Steps {
			if i > 0 && s.After < p.Steps[i-1].After || s.After < 0 || f.For > 0 && s.After >= f.For {
				rt.Fatalf("step %d is sent after %v", i, s.After)
			}
			key := fmt.Sprint(s.Sender, s.Nonce)
			was, replaces := newest[key]
			if replaces != s.Replaces || replaces && (s.TipWei < bumped(was.TipWei) || s.FeeWei < bumped(was.FeeWei)) {
				rt.Fatalf("%+v after %+v", s, was)
			}
			newest[key] = s
			if nonces[s.Sender] == nil {
				nonces[s.Sender] = map[uint64]bool{}
			}
			nonces[s.Sender][s.Nonce] = true
			if s.TipWei > s.FeeWei || s.Gas*s.FeeWei > 1e18 || s.ValueWei > 1e18 || s.Sender >= p.Senders || s.Type > 2 ||
				len(s.Data()) != int(s.Bytes) || s.Gas < rules.TransferGas+40*uint64(s.Bytes) {
				rt.Fatalf("%+v", s)
			}
		}
		total := 0
		for sender, used := range nonces {
			for nonce := range used {
				if nonce >= uint64(len(used)) {
					rt.Fatalf("account %d has nonces %v", sender, used)
				}
			}
			total += len(used)
		}
		if len(nonces) != p.Senders || total != p.Nonces {
			rt.Fatalf("%d senders, %d nonces: %v", p.Senders, p.Nonces, nonces)
		}
	})
}

func TestData(t *testing.T) {
	for _, c := range []struct {
		step Step
		want []byte
	}{
		{Step{Bytes: 5, NonZero: 2}, []byte{0, 0, 0, 1, 1}}, {Step{Bytes: 2, NonZero: 2}, []byte{1, 1}}, {Step{}, []byte{}},
		{Step{Bytes: 2, NonZero: 2, Creates: true}, []byte{0, 1}},
	} {
		if got := c.step.Data(); !bytes.Equal(got, c.want) {
			t.Errorf("%+v: %x", c.step, got)
		}
	}
}

// Each row of the file is in one line of the table.
func TestOutcomeLines(t *testing.T) {
	o := Outcome{
		Plan: &Plan{Rows: 100, Steps: make([]Step, 90), Senders: 7, Left: Counts{WhyBlob: 8, WhyEnd: 2},
			Changed: Counts{ChangedValue: 3}},
		Reached: 85, Accepted: 80, Refused: Counts{"nonce too low": 5}, Replaced: 4, Included: 70,
	}
	const want = `transactions 100
  sent 80
    included 70
    replaced 4
    not included 6
  left out 15
    after the end of the run 7
    blob transaction: its blobs are not in the file 8
  refused by the node 5
    nonce too low 5
of the 90 to be sent, on 7 accounts
  value lowered to 1 ether 3
`
	var got strings.Builder
	for _, line := range o.Lines() {
		if at := strings.LastIndexByte(line, ' '); strings.Contains(line, "   ") && !strings.HasPrefix(line, "of ") {
			line = strings.TrimRight(line[:at], " ") + line[at:]
		}
		got.WriteString(line + "\n")
	}
	if got.String() != want {
		t.Error(got.String())
	}
	if o.Left[WhyEnd] != 2 {
		t.Error("the plan was changed")
	}
}
