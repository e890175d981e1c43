package wire

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
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

// Each fork's library type reads amounts in its own way (REL-SUB-34).
func TestAmountsMustFitInEveryFork(t *testing.T) {
	for _, fork := range eth.Forks() {
		contents := newSource(3).contents(fork)
		contents.Payload.BaseFeePerGas, contents.Trace.Value = uint256.NewInt(9), uint256.NewInt(7)
		request, err := toRequest(contents)
		if err != nil {
			t.Fatal(err)
		}
		good, err := request.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		for _, before := range []string{`"base_fee_per_gas":"9"`, `"value":"7"`} {
			name, _, found := strings.Cut(before, ":")
			if !found || !strings.Contains(string(good), before) {
				t.Fatalf("the good submission has no %s", before)
			}
			for _, amount := range []string{
				`"` + beyond256 + `"`, `"` + strings.Repeat("9", 78) + `"`, `"0x9"`, `"-9"`, `""`, `"1e3"`, `" 1"`, `"01"`, `1`,
				`null`, `true`, `["1"]`,
			} {
				body := strings.Replace(string(good), before, name+":"+amount, 1)
				if _, err := DecodeSubmission(fork, JSON, []byte(body)); err == nil {
					t.Errorf("%s: %s of %s passes", fork, name, amount)
				}
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
		fixed := int(binary.LittleEndian.Uint32(body[236:])) // the first offset is that of the payload
		bad := map[string][]byte{
			"trailing byte": append(append([]byte{}, body...), 0), "cut short": body[:len(body)-1], "nothing": nil,
			"first offset + 1": bend(body, 236, 1), "first offset - 1": bend(body, 236, -1),
			"the fixed part": body[:fixed], "half of the fixed part": body[:fixed/2],
			"an offset beyond the end": withOffset(body, 236, 0xff000000+uint32(fixed)),
			"an offset of zero":        withOffset(body, 236, 0),
		}
		if fork.HasBlobs() { // the next offset is that of the bundle
			bad["two parts at one place"] = withOffset(body, 240, uint32(fixed))
		}
		for name, bad := range bad {
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

func withOffset(body []byte, at int, offset uint32) []byte {
	bent := append([]byte{}, body...)
	binary.LittleEndian.PutUint32(bent[at:], offset)
	return bent
}

// Lists longer than the preset allows are no SSZ of their type, and at the limit they are
// (REL-SUB-36). The libraries do not write them, so the bytes are put together here.
func TestListLimitsHoldInSSZ(t *testing.T) {
	request, err := toRequest(newSource(5).contents(eth.Fulu))
	if err != nil {
		t.Fatal(err)
	}
	good, err := request.MarshalSSZ()
	if err != nil {
		t.Fatal(err)
	}
	offsetAt := func(raw []byte, at int) int { return int(binary.LittleEndian.Uint32(raw[at:])) }
	parts := [3][]byte{
		good[offsetAt(good, 236):offsetAt(good, 240)], good[offsetAt(good, 240):offsetAt(good, 244)],
		good[offsetAt(good, 244):], // of the payload, of the bundle, and of the requests after the signature
	}
	signed := good[:236]
	signature := good[offsetAt(good, 236)-96 : offsetAt(good, 236)]
	assemble := func(part int, instead []byte) []byte {
		parts := parts
		parts[part] = instead
		raw, at := slices.Clone(signed), offsetAt(good, 236)
		for _, part := range parts {
			raw, at = binary.LittleEndian.AppendUint32(raw, uint32(at)), at+len(part)
		}
		return slices.Concat(raw, signature, parts[0], parts[1], parts[2])
	}
	if _, err := DecodeSubmission(eth.Fulu, SSZ, assemble(0, parts[0])); err != nil {
		t.Fatalf("as it was: %v", err)
	}
	const extraData, transactions, withdrawals = 436, 504, 508
	const deposit, exit, consolidation, commitment = 192, 76, 116, 48
	for name, row := range map[string]struct {
		limit, part int
		bytes       func(n int) []byte
	}{
		"withdrawals": {16, 0, func(n int) []byte {
			return append(slices.Clone(parts[0][:offsetAt(parts[0], withdrawals)]), make([]byte, 44*n)...)
		}},
		"bytes of extra data": {32, 0, func(n int) []byte {
			begin, end := offsetAt(parts[0], extraData), offsetAt(parts[0], transactions)
			long := slices.Concat(parts[0][:begin], make([]byte, n), parts[0][end:])
			for _, at := range []int{transactions, withdrawals} {
				binary.LittleEndian.PutUint32(long[at:], uint32(offsetAt(long, at)+n-(end-begin)))
			}
			return long
		}},
		"commitments":    {4096, 1, func(n int) []byte { return threeLists(commitment*n, 0, 0) }},
		"deposits":       {8192, 2, func(n int) []byte { return threeLists(deposit*n, 0, 0) }},
		"exits":          {16, 2, func(n int) []byte { return threeLists(0, exit*n, 0) }},
		"consolidations": {2, 2, func(n int) []byte { return threeLists(0, 0, consolidation*n) }},
	} {
		for _, over := range []int{0, 1} {
			_, err := DecodeSubmission(eth.Fulu, SSZ, assemble(row.part, row.bytes(row.limit+over)))
			if (err != nil) != (over > 0) {
				t.Errorf("%d %s: %v", row.limit+over, name, err)
			}
		}
	}
}

// threeLists is the SSZ of a container of three lists with elements of fixed size, all zero:
// execution requests, or a blobs bundle.
func threeLists(first, second, third int) []byte {
	raw := make([]byte, 12+first+second+third)
	for i, offset := range []int{12, 12 + first, 12 + first + second} {
		binary.LittleEndian.PutUint32(raw[4*i:], uint32(offset))
	}
	return raw
}

// Hexadecimal digits mean the same in either case (REL-SUB-09).
func TestAddressesInCapitals(t *testing.T) {
	contents := newSource(3).contents(eth.Fulu)
	contents.Trace.ProposerFeeRecipient = bellatrix.ExecutionAddress{0xfe, 0xab, 0xcd}
	request, err := toRequest(contents)
	if err != nil {
		t.Fatal(err)
	}
	body, err := request.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	lower := fmt.Sprintf("%#x", contents.Trace.ProposerFeeRecipient[:])
	text := string(body)
	for _, written := range []string{lower, contents.Trace.ProposerFeeRecipient.String()} { // with letters by EIP-55
		text = strings.ReplaceAll(text, written, "0x"+strings.ToUpper(lower[2:]))
	}
	if !strings.Contains(text, "0xFEABCD") {
		t.Fatal("no address was replaced")
	}
	s, err := DecodeSubmission(eth.Fulu, JSON, []byte(text))
	if err != nil || s.Trace.ProposerFeeRecipient != contents.Trace.ProposerFeeRecipient {
		t.Errorf("%v", err)
	}
}

// A name that a lenient reader might take for another is refused, and the refusal says why.
func TestNamesThatLookAlike(t *testing.T) {
	good := goodJSON(t)
	for name, why := range map[string]string{"slot": "twice", "SLOT": "other letters", "\u017flot": "other letters"} {
		body := strings.Replace(good, `"message":{`, `"message":{"`+name+`":"1",`, 1)
		if _, err := DecodeSubmission(eth.Fulu, JSON, []byte(body)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", name, err, why)
		}
	}
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
