package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
)

// beyond256 is 2^256, which has as many digits as the greatest number that fits.
const beyond256 = "115792089237316195423570985008687907853269984665640564039457584007913129639936"

// goodJSON is a fulu submission with two transactions.
func goodJSON(t testing.TB) string {
	t.Helper()
	contents := newSource(3).contents(eth.Fulu)
	contents.Payload.Transactions = append(contents.Payload.Transactions[:0], []byte{1, 2}, []byte{3})
	contents.Trace.Slot, contents.Payload.GasUsed = 42, 21000
	contents.Trace.Value, contents.Payload.BaseFeePerGas = uint256.NewInt(7), uint256.NewInt(9)
	request, err := toRequest(contents)
	if err != nil {
		t.Fatal(err)
	}
	body, err := request.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestStrictJSON(t *testing.T) {
	good := goodJSON(t)
	if _, err := DecodeSubmission(eth.Fulu, JSON, []byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct{ old, new string }{
		"REL-SUB-34 bare number":            {`"slot":"42"`, `"slot":42`},
		"REL-SUB-34 negative number":        {`"gas_used":"21000"`, `"gas_used":"-21000"`},
		"REL-SUB-34 hexadecimal number":     {`"gas_used":"21000"`, `"gas_used":"0x5208"`},
		"REL-SUB-34 empty number":           {`"gas_used":"21000"`, `"gas_used":""`},
		"leading zero":                      {`"gas_used":"21000"`, `"gas_used":"021000"`},
		"number beyond 2^64":                {`"slot":"42"`, `"slot":"18446744073709551616"`},
		"REL-SUB-34 value beyond 2^256":     {`"value":"7"`, `"value":"` + beyond256 + `"`},
		"base fee beyond 2^256":             {`"base_fee_per_gas":"9"`, `"base_fee_per_gas":"` + beyond256 + `"`},
		"transactions of numbers":           {`"transactions":["0x0102","0x03"]`, `"transactions":[1]`},
		"transactions of numbers, long s":   {`"transactions":["0x0102","0x03"]`, `"tran\u017factions":[1]`},
		"transactions of numbers, capitals": {`"transactions":["0x0102","0x03"]`, `"TRANSACTIONS":[1]`},
		"transactions of objects":           {`"transactions":["0x0102","0x03"]`, `"transactions":[{}]`},
		"transactions of nothing":           {`"transactions":["0x0102","0x03"]`, `"transactions":[""]`},
		"transactions nul":                  {`"transactions":["0x0102","0x03"]`, `"transactions":nul`},
		"a transaction of half a byte":      {`"0x0102"`, `"0x010"`},
		"a transaction without 0x":          {`"0x0102"`, `"0102"`},
		"a transaction of other letters":    {`"0x0102"`, `"0xzz"`},
		"a name twice":                      {`"slot":"42"`, `"slot":"42","slot":"42"`},
		"a name twice in another case":      {`"slot":"42"`, `"slot":"42","Slot":"43"`},
		"something behind the document":     {good, good + "{}"},
		"cut short":                         {good, good[:len(good)-1]},
		"a list for an object":              {`"message":{`, `"message":[],"x":{`},
		"a text for an object":              {`"message":{`, `"message":"","x":{`},
		"an object for a text":              {`"slot":"42"`, `"slot":{}`},
		"nested too deeply in an unknown one": {`"slot":"42"`, `"slot":"42","x":` +
			strings.Repeat("[", 99) + strings.Repeat("]", 99)},
		"no message": {`"message"`, `"massage"`},
		"no bundle":  {`"blobs_bundle"`, `"blobs_bumble"`},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(good, row.old) {
				t.Fatalf("the good submission has no %s", row.old)
			}
			body := strings.Replace(good, row.old, row.new, 1)
			if _, err := DecodeSubmission(eth.Fulu, JSON, []byte(body)); err == nil {
				t.Error("passes")
			} else {
				t.Log(err)
			}
		})
	}
}

// Each fork's library type reads the base fee in its own way (REL-SUB-34).
func TestBaseFeeMustFitInEveryFork(t *testing.T) {
	for _, fork := range eth.Forks() {
		contents := newSource(3).contents(fork)
		contents.Payload.BaseFeePerGas = uint256.NewInt(9)
		request, err := toRequest(contents)
		if err != nil {
			t.Fatal(err)
		}
		good, err := request.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		for _, fee := range []string{beyond256, "0x9", "-9", ""} {
			body := strings.Replace(string(good), `"base_fee_per_gas":"9"`, `"base_fee_per_gas":"`+fee+`"`, 1)
			if _, err := DecodeSubmission(fork, JSON, []byte(body)); err == nil {
				t.Errorf("%s: base fee %q passes", fork, fee)
			}
		}
	}
}

// What later versions may bring must not be refused.
func TestUnknownNamesAreIgnored(t *testing.T) {
	body := strings.Replace(goodJSON(t), `"slot":"42"`, `"future":{"slots":[1,null,true,{"a":-1.5}]},"slot":"42"`, 1)
	submission, err := DecodeSubmission(eth.Fulu, JSON, []byte(body))
	if err != nil || submission.Trace.Slot != 42 {
		t.Fatalf("%v", err)
	}
	if slot, err := SlotOf(JSON, []byte(body)); err != nil || slot != 42 {
		t.Errorf("slot %d, %v", slot, err)
	}
}

// Every shortened, lengthened or bent SSZ body is refused, or is read as exactly what it says
// (REL-SUB-36).
func TestStrictSSZ(t *testing.T) {
	for _, fork := range eth.Forks() {
		request, err := toRequest(newSource(5).contents(fork))
		if err != nil {
			t.Fatal(err)
		}
		body, err := request.MarshalSSZ()
		if err != nil {
			t.Fatal(err)
		}
		for name, bad := range map[string][]byte{
			"trailing byte": append(append([]byte{}, body...), 0), "cut short": body[:len(body)-1], "nothing": nil,
			"first offset + 1": bend(body, 236, 1), "first offset - 1": bend(body, 236, -1),
		} {
			if _, err := DecodeSubmission(fork, SSZ, bad); err == nil {
				t.Errorf("%s: %s passes", fork, name)
			}
		}
	}
	if _, err := SlotOf(SSZ, make([]byte, 7)); err == nil {
		t.Error("seven bytes hold a slot")
	}
}

func bend(body []byte, at, by int) []byte {
	bent := append([]byte{}, body...)
	bent[at] = byte(int(bent[at]) + by)
	return bent
}

// Lists end where SSZ has no more room (REL-SUB-36).
func TestListLimitsHoldInJSON(t *testing.T) {
	good := goodJSON(t)
	withdrawal := `{"index":"1","validator_index":"1","address":"0x` + strings.Repeat("00", 20) + `","amount":"1"}`
	consolidation := `{"source_address":"0x` + strings.Repeat("00", 20) + `","source_pubkey":"0x` +
		strings.Repeat("00", 48) +
		`","target_pubkey":"0x` + strings.Repeat("00", 48) + `"}`
	exit := `{"source_address":"0x` + strings.Repeat("00", 20) + `","validator_pubkey":"0x` + strings.Repeat("00", 48) +
		`","amount":"1"}`
	commitment := `"0x` + strings.Repeat("00", 48) + `"`
	payloadAt := strings.Index(good, `"execution_payload"`)
	for name, row := range map[string]struct {
		from  int
		field string
		item  string
		most  int
	}{
		"withdrawals":     {payloadAt, "withdrawals", withdrawal, 16},
		"exits":           {strings.Index(good, `"deposits"`), "withdrawals", exit, 16},
		"consolidations":  {0, "consolidations", consolidation, 2},
		"commitments":     {0, "commitments", commitment, 4096},
		"bytes of extras": {0, "extra_data", "", 32},
	} {
		for _, over := range []int{0, 1} {
			value := "[" + strings.Repeat(row.item+",", row.most+over-1) + row.item + "]"
			if row.item == "" {
				value = `"0x` + strings.Repeat("00", row.most+over) + `"`
			}
			start := row.from + strings.Index(good[row.from:], `"`+row.field+`":`) + len(row.field) + 3
			c := newCursor([]byte(good))
			c.At = start
			if _, err := c.Raw(); err != nil {
				t.Fatal(err)
			}
			_, err := DecodeSubmission(eth.Fulu, JSON, []byte(good[:start]+value+good[c.At:]))
			if (err != nil) != (over > 0) {
				t.Errorf("%d %s: %v", row.most+over, name, err)
			}
		}
	}
}

// However many names an object has, the second of a kind is found.
func TestNamesComeOnceAmongMany(t *testing.T) {
	var body strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&body, `"name%d":%d,`, i, i)
	}
	good := goodJSON(t)
	for again, want := range map[string]bool{`"name1000":1,`: true, `"name3":1,`: false, `"NAME999":1,`: false} {
		_, err := DecodeSubmission(eth.Fulu, JSON, []byte("{"+body.String()+again+good[1:]))
		if (err == nil) != want {
			t.Errorf("%s: %v", again, err)
		}
		if err := strict([]byte("{" + body.String() + again + `"slot":"1"}`)); (err == nil) != want {
			t.Errorf("strict, %s: %v", again, err)
		}
	}
}

// The slot is found wherever the message is, and names are names however they are written.
func TestSlotIsFoundBehindAnything(t *testing.T) {
	for body, want := range map[string]bool{
		`{"message":{"slot":"42"`: true,
		`{"a":["}",{"b":"\"]"}],"c":-1.5e3,"d":null,"message":{"x":{},"slot":"42"}}`: true,
		`{"m\u0065ssage" : {"\u0073lot":"\u00342"}}`:                                 true,
		`{"message":{"slot":"042"}}`:                                                 false, `{"message":{"slot":42}}`: false,
		`{"message":{}}`: false, `{"x":{"message":{"slot":"42"}}}`: false,
		`{"message":[]}`: false, `{"message":null}`: false, `[]`: false, ``: false, `{"a":"\"`: false, `{"a":[`: false,
		`{"Message":{"slot":"42"}}`:      false,
		`{"a":,"message":{"slot":"42"}}`: false,
	} {
		if slot, err := SlotOf(JSON, []byte(body)); (err == nil) != want || want && slot != 42 {
			t.Errorf("%s: slot %d, %v", body, slot, err)
		}
	}
}
