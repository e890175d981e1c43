package shape

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/holiman/uint256"
)

// parcel is a container with a value of each kind.
type parcel struct {
	Number  uint64
	Octet   uint8
	Flag    bool
	Wei     *uint256.Int
	Array   [3]byte
	Slice   []byte
	Vector  [][]byte
	Bits    []byte
	List    []uint64
	Bytes   []byte
	Text    string
	Bitlist []byte
	Lists   [][]byte
	Inner   *inner
}

type inner struct{ A, B uint64 }

var (
	innerShape = Container(
		In("a", Number[uint64](), func(i *inner) *uint64 { return &i.A }),
		In("b", Number[uint64](), func(i *inner) *uint64 { return &i.B }),
	)
	parcelShape = Container(
		In("number", Number[uint64](), func(p *parcel) *uint64 { return &p.Number }),
		In("octet", Octet[uint8](), func(p *parcel) *uint8 { return &p.Octet }),
		In("flag", Flag(), func(p *parcel) *bool { return &p.Flag }),
		In("wei", Wei(), func(p *parcel) **uint256.Int { return &p.Wei }),
		In("array", Bytes(func(a *[3]byte) []byte { return a[:] }), func(p *parcel) *[3]byte { return &p.Array }),
		In("slice", Slice(2), func(p *parcel) *[]byte { return &p.Slice }),
		In("vector", Vector(Slice(1), 2), func(p *parcel) *[][]byte { return &p.Vector }),
		In("bits", Bits[[]byte](12), func(p *parcel) *[]byte { return &p.Bits }),
		In("list", List(Number[uint64](), 3), func(p *parcel) *[]uint64 { return &p.List }),
		In("bytes", ByteList[[]byte](4), func(p *parcel) *[]byte { return &p.Bytes }),
		In("text", Text(8), func(p *parcel) *string { return &p.Text }),
		In("bitlist", ProgressiveBits[[]byte](), func(p *parcel) *[]byte { return &p.Bitlist }),
		In("lists", List(ProgressiveBytes[[]byte](), 2), func(p *parcel) *[][]byte { return &p.Lists }),
		In("inner", Pointer(innerShape), func(p *parcel) **inner { return &p.Inner }),
	)
)

func example() *parcel {
	return &parcel{
		Number: 1, Octet: 2, Flag: true, Wei: uint256.NewInt(3), Array: [3]byte{4}, Slice: []byte{5, 6},
		Vector: [][]byte{{7}, {8}}, Bits: []byte{0xff, 0x0f}, List: []uint64{9}, Bytes: []byte{10}, Text: "é\"",
		Bitlist: []byte{0, 0x80}, Lists: [][]byte{{}, {11, 12}}, Inner: &inner{13, 14},
	}
}

const exampleJSON = `{"number":"1","octet":"2","flag":true,"wei":"3","array":"0x040000","slice":"0x0506",` +
	`"vector":["0x07","0x08"],"bits":"0xff0f","list":["9"],"bytes":"0x0a","text":"é\"","bitlist":"0x0080",` +
	`"lists":["0x","0x0b0c"],"inner":{"a":"13","b":"14"}}`

// Where parts of the example's SSZ begin: offsets, and values of variable size.
const (
	flagAt    = 9
	bitsAt    = 49
	offsetsAt = 51
	headBytes = 87
)

func TestOneValueInAllForms(t *testing.T) {
	raw, err := parcelShape.Encode(example())
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) != headBytes+8+1+3+2+2*4+2 {
		t.Errorf("%d bytes", len(raw))
	}
	decoded, err := parcelShape.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	text, err := parcelShape.ToJSON(decoded)
	if err != nil || string(text) != exampleJSON {
		t.Errorf("%s, %v: want %s", text, err, exampleJSON)
	}
	read, err := parcelShape.FromJSON([]byte(exampleJSON))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := parcelShape.Encode(read); err != nil || !bytes.Equal(again, raw) {
		t.Errorf("%x, %v: want %x", again, err, raw)
	}
}

// A value that its type can't have is neither written nor hashed.
func TestImpossibleValuesAreNotWritten(t *testing.T) {
	for name, spoil := range map[string]func(*parcel){
		"wei: it is missing":                func(p *parcel) { p.Wei = nil },
		"slice: 1 bytes: want 2":            func(p *parcel) { p.Slice = p.Slice[:1] },
		"vector: 1 items: want 2":           func(p *parcel) { p.Vector = p.Vector[:1] },
		"vector: item 1: 2 bytes: want 1":   func(p *parcel) { p.Vector[1] = []byte{1, 2} },
		"bits: a bit after the first 12":    func(p *parcel) { p.Bits = []byte{0, 0x10} },
		"bits: 3 bytes: want 2":             func(p *parcel) { p.Bits = []byte{0, 0, 0} },
		"list: more than 3":                 func(p *parcel) { p.List = make([]uint64, 4) },
		"bytes: more than 4":                func(p *parcel) { p.Bytes = make([]byte, 5) },
		"text: more than 8":                 func(p *parcel) { p.Text = "123456789" },
		"text: it is not UTF-8":             func(p *parcel) { p.Text = "\xff" },
		"bitlist: a bitlist without":        func(p *parcel) { p.Bitlist = nil },
		"bitlist: a bitlist without its en": func(p *parcel) { p.Bitlist = []byte{1, 0} },
		"inner: it is missing":              func(p *parcel) { p.Inner = nil },
	} {
		p := example()
		spoil(p)
		_, ssz := parcelShape.Encode(p)
		_, text := parcelShape.ToJSON(p)
		_, root := parcelShape.Root(p)
		for form, err := range map[string]error{"SSZ": ssz, "JSON": text, "root": root} {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v: want %s", form, err, name)
			}
		}
	}
	if _, err := parcelShape.Encode(nil); !errors.Is(err, errMissing) {
		t.Errorf("nil: %v", err)
	}
}

// Decode refuses all bytes but the one form of a value.
func TestDecodeIsStrict(t *testing.T) {
	valid, err := parcelShape.Encode(example())
	if err != nil {
		t.Fatal(err)
	}
	set := func(at int, b byte) func([]byte) []byte {
		return func(raw []byte) []byte { raw[at] = b; return raw }
	}
	lists := int(valid[offsetsAt+16]) // where the lists begin
	for name, spoil := range map[string]func([]byte) []byte{
		"87":                         func(raw []byte) []byte { return raw[:headBytes-1] },
		"flag: 0x02 is no boolean":   set(flagAt, 2),
		"bits: a bit after":          set(bitsAt+1, 0x1f),
		"list: an offset is wrong":   set(offsetsAt, headBytes-1),
		"bytes: an offset is wrong":  set(offsetsAt+4, headBytes-8),
		"text: an offset":            set(offsetsAt+9, 0xff),
		"list: 7 bytes are no":       set(offsetsAt+4, headBytes+7),
		"bitlist: a bitlist without": set(lists-1, 0),
		"lists: an offset is wrong":  set(lists, 7),
		"lists: item 0: an offset":   set(lists+4, 0),
		"list: more than 3":          func(raw []byte) []byte { return lengthen(raw, 24) },
		"text: it is not UTF-8":      set(headBytes+9, 0xff),
		"lists: an offset is wrong ": set(lists, 0),
		"lists: more than 2":         func(raw []byte) []byte { raw[lists] = 12; return append(raw, 0, 0) },
	} {
		_, err := parcelShape.Decode(spoil(bytes.Clone(valid)))
		if name = strings.TrimSpace(name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: want %s", err, name)
		}
	}
	gap := lengthen(bytes.Clone(valid), 8) // bytes that belong to no value, before the first one
	gap[offsetsAt] += 8
	if _, err := parcelShape.Decode(gap); err == nil || !strings.Contains(err.Error(), "list: an offset is wrong") {
		t.Errorf("a gap: %v", err)
	}
	if _, err := innerShape.Decode(make([]byte, 17)); err == nil {
		t.Error("a byte is left over, and nobody minds")
	}
}

// lengthen adds bytes to the example's first list.
func lengthen(raw []byte, by int) []byte {
	raw = append(raw[:headBytes:headBytes], append(make([]byte, by), raw[headBytes:]...)...)
	for _, at := range []int{4, 8, 12, 16} {
		raw[offsetsAt+at] += byte(by)
	}
	return raw
}

func TestJSONIsStrict(t *testing.T) {
	replace := func(old, with string) string { return strings.Replace(exampleJSON, old, with, 1) }
	for body, want := range map[string]string{
		replace(`"octet":"2"`, `"octet":"256"`):                       "octet: 256: want a decimal number below 2^8",
		replace(`"number":"1"`, `"number":1`):                         `number: "1": want a quoted decimal number`,
		replace(`"number":"1"`, `"number":"01"`):                      "number",
		replace(`"number":"1"`, `"number":"+1"`):                      "number",
		replace(`"number":"1"`, `"number":""`):                        "number",
		replace(`"number":"1"`, `"number":"1","number":"1"`):          "number comes twice",
		replace(`"number":"1"`, `"number":"1","Octet":"1"`):           "written in other letters",
		replace(`"number":"1"`, `"number":"1","x":1,"x":2`):           "x comes twice",
		replace(`"number":"1"`, `"number":"1","x":1,"X":2`):           "x comes twice",
		replace(`"number":"1"`, `"number":"1","x":01`):                "not JSON",
		replace(`"number":"1",`, ``):                                  "no number",
		replace(`"number":"1"`, `"number":"18446744073709551616"`):    "below 2^64",
		replace(`"wei":"3"`, `"wei":"1`+strings.Repeat("0", 77)+`"`):  "",
		replace(`"wei":"3"`, `"wei":"2`+strings.Repeat("0", 77)+`"`):  "below 2^256",
		replace(`true`, `"true"`):                                     "flag: text: want true or false",
		replace(`true`, `truth`):                                      "not JSON",
		replace(`0x040000`, `0x0400`):                                 "array: 2 bytes: want 3",
		replace(`0x040000`, `040000`):                                 "array",
		replace(`0x040000`, `0x04000`):                                "array",
		replace(`0x040000`, `0x0400zz`):                               "not hexadecimal",
		replace(`0x040000`, `0X040000`):                               "array",
		replace(`["0x07","0x08"]`, `["0x07"]`):                        "1 items: want 2",
		replace(`0xff0f`, `0xff1f`):                                   "a bit after the first 12",
		replace(`["9"]`, `["9","9","9","9"]`):                         "list: more than 3",
		replace(`["9"]`, `{}`):                                        "list: an object: want a list",
		replace(`["9"]`, `nul`):                                       "list",
		replace(`0x0a`, `0x0a0a0a0a0a`):                               "bytes: more than 4",
		replace(`0x0080`, `0x8000`):                                   "a bitlist without its end",
		replace(`"inner":{`, `"inner":null,"y":{`):                    "want an object",
		exampleJSON + `{}`:                                            "something follows",
		exampleJSON[:40]:                                              "not JSON",
		`[]`:                                                          "a list: want an object",
		`{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100): "nested too deeply",
	} {
		_, err := parcelShape.FromJSON([]byte(body))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: want %q", err, want)
		}
	}
}

// Go's libraries write a nil list as null. Unknown names are of later versions.
func TestJSONIsLiberal(t *testing.T) {
	body := strings.Replace(exampleJSON, `["9"]`, ` null , "later" : [{"a":null}]`, 1)
	p, err := parcelShape.FromJSON([]byte(body))
	if err != nil || len(p.List) != 0 {
		t.Errorf("%+v, %v", p, err)
	}
}

// A short text must not make a decoder allocate much: counts are checked against lengths before
// memory is allocated for them.
func TestMemoryIsBounded(t *testing.T) {
	many := Progressive(Pointer(Container(
		In("a", ProgressiveBytes[[]byte](), func(p *parcel) *[]byte { return &p.Bytes }),
		In("b", ProgressiveBytes[[]byte](), func(p *parcel) *[]byte { return &p.Slice }),
	)))
	raw := bytes.Repeat([]byte{0, 0, 4, 0}, 1<<16) // one list, whose offsets say that all of it is offsets
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := many.Decode(raw); err == nil {
		t.Error("it was taken")
	}
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > uint64(len(raw)) {
		t.Errorf("%d bytes were allocated for %d", allocated, len(raw))
	}
}
