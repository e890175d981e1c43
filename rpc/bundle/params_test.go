package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/rpc"
)

type example struct {
	Block   Number      `json:"block"`
	Hashes  []HashParam `json:"hashes"`
	To      *Address    `json:"to"`
	Names   []string    `json:"names"`
	Fast    bool        `json:"fast"`
	Body    RawList
	Privacy struct {
		Hints []string `json:"hints"`
	} `json:"privacy"`
	Later RawList `json:"later"`
}

// NoEffect implements Tolerant.
func (example) NoEffect() []string { return []string{"habit", "another"} }

// What is wrong is said with the way to it.
func TestErrorsHaveThePath(t *testing.T) {
	for _, c := range []struct{ params, want string }{
		{`[{"block":-1}]`, "invalid params: params[0].block: " + errNumber.Error()},
		{`[{"hashes":["0x12"]}]`, "invalid params: params[0].hashes[0]: want 0x and 64 hexadecimal digits"},
		{`[{"hashes":{}}]`, "invalid params: params[0].hashes: want a list"},
		{`[{"hashes":[null]}]`, "invalid params: params[0].hashes[0]: want 0x and 64 hexadecimal digits"},
		{`[{"to":"0x"}]`, "invalid params: params[0].to: want 0x and 40 hexadecimal digits"},
		{`[{"names":["a",1]}]`, "invalid params: params[0].names[1]: want a string"},
		{`[{"names":["a",null]}]`, "invalid params: params[0].names[1]: want no null in a list"},
		{`[{"fast":"yes"}]`, "invalid params: params[0].fast: want true or false"},
		{`[{"privacy":{"hints":"all"}}]`, "invalid params: params[0].privacy.hints: want a list"},
		{`[{"later":"all"}]`, "invalid params: params[0].later: want a list"},
		{`[{"fast":true,"fast":true}]`, "invalid params: params[0].fast: comes twice"},
		{`[{"privacy":{"hints":["calldata"]},"privacy":{}}]`, "invalid params: params[0].privacy: comes twice"},
		{`[{"privacy":{"hints":[],"hints":null}}]`, "invalid params: params[0].privacy.hints: comes twice"},
		{`[{"habit":1,"another":2,"habit":1}]`, "invalid params: params[0].habit: comes twice"},
		{`[{"Fast":true}]`,
			"invalid params: params[0].Fast: is not known; known are block, hashes, to, names, fast, privacy, later"},
		{`[{"privacy":{"habit":1}}]`, "invalid params: params[0].privacy.habit: is not known; known are hints"},
		{`[{"privacy":{"":1}}]`, "invalid params: params[0].privacy.: is not known; known are hints"},
		{`[{"privacy":{"hi\nts\u0000":1}}]`, `invalid params: params[0].privacy."hi\nts\x00": is not known; known are hints`},
		{`[{"privacy":{"` + strings.Repeat("h", 1<<20) + `":1}}]`, "invalid params: params[0].privacy." +
			strings.Repeat("h", 40) + "…: is not known; known are hints"},
		{`[{"fast":true,"f\u0061st":false}]`, "invalid params: params[0].fast: comes twice"},
		{`["0x"]`, "invalid params: params[0]: want an object"},
		{`[{},1.5]`, "invalid params: params[1]: " + errNumber.Error()},
		{`[{},1,"more"]`, "invalid params: too many params: want at most 2"},
		{`{}`, "invalid params: params: want a list"},
		{`"0x"`, "invalid params: params: want a list"},
		{`[{"names":[` + strings.Repeat(`"",`, MaxList) + `""]}]`,
			"invalid params: params[0].names: want at most 1000 elements"},
	} {
		var first example
		var second Number
		err := ReadPositional(json.RawMessage(c.params), &first, &second)
		if err == nil || err.Error() != c.want {
			t.Errorf("%.60s: %v; want %s", c.params, err, c.want)
		}
		var refused *rpc.Refused
		if !errors.As(err, &refused) || refused.ID != rpc.InvalidParams.ID {
			t.Errorf("%.60s: %T is no refusal of params", c.params, err)
		}
	}
}

// MissingParam params at the end are zero; what clients append out of habit does not count, nor do
// members that have no effect.
func TestPositional(t *testing.T) {
	for _, params := range []string{
		``, `null`, `[]`, ` [ ] `, `[null]`, `[{}]`, `[{},null]`, `[{},null,null,{}]`,
		`[{"habit":{"deep":[1,"]"]},"fast":false}, "0x", { }]`,
	} {
		first, second := example{}, Number{}
		if err := ReadPositional(json.RawMessage(params), &first, &second); err != nil || first.Block.Set || second.Set {
			t.Errorf("%s: %+v %+v %v", params, first, second, err)
		}
	}
	var first example
	var second Number
	params := ` [ { "block" : "0x10" , "names" : [ "a\u0062" , "\\" ] , "hashes" : [ ] , "to" : null , "fast" : true } , 5 ] `
	if err := ReadPositional(json.RawMessage(params), &first, &second); err != nil {
		t.Fatal(err)
	}
	if first.Block.Value != 16 || !slices.Equal(first.Names, []string{"ab", `\`}) || !first.Fast || first.To != nil ||
		second.Value != 5 {
		t.Errorf("%+v %+v", first, second)
	}
	if first.Hashes == nil || first.Privacy.Hints != nil {
		t.Error("an empty list and none must not be the same")
	}
}

// Bytes that are no JSON are refused, or read as if they were; here are those that a scanner could
// run past.
func TestNotJSON(t *testing.T) {
	for _, params := range []string{
		`[`, `[1`, `[1,`, `[{`, `[{"a`, `[{"a"`, `[{"a":`, `[{"a":1`, `[{"a":1,`, `[{"block":"`, `[{"block":"\`,
		`[{"later":[[`, `[{"later":["`, `[{1:2}]`, `[:]`,
		`[{"\x":1}]`, `[{"names":["\x"]}]`, `[{"block":"\x"}]`, `[{"a":[{"`,
	} {
		var first example
		if err := ReadPositional(json.RawMessage(params), &first); err == nil {
			t.Errorf("%s was taken", params)
		}
	}
}

// A list of a million elements is counted before anybody makes room for one.
func TestLaterListIsCountedFirst(t *testing.T) {
	const n = 1_000_000
	params := json.RawMessage(`[{"later":[` + strings.Repeat(`{},`, n) + `{}]}]`)
	var p struct {
		Later RawList `json:"later"`
	}
	allocated := testing.AllocsPerRun(1, func() {
		if err := ReadPositional(params, &p); err != nil || p.Later.Count() != n+1 {
			t.Fatal(err, p.Later.Count())
		}
	})
	if allocated > 100 {
		t.Errorf("%v allocations to count", allocated)
	}
}

func TestElements(t *testing.T) {
	var list RawList
	if err := list.Read([]byte(`[1, "0x2", "x"]`)); err != nil || list.Count() != 3 {
		t.Fatal(err, list.Count())
	}
	if _, err := ReadElements[Number]("params[0].list", list); err == nil ||
		err.Error() != "invalid params: params[0].list[2]: "+errNumber.Error() {
		t.Error(err)
	}
	if err := list.Read([]byte(`[1, "0x2"]`)); err != nil {
		t.Fatal(err)
	}
	numbers, err := ReadElements[Number]("params[0].list", list)
	if err != nil || len(numbers) != 2 || numbers[1].Value != 2 {
		t.Error(numbers, err)
	}
	if none, err := ReadElements[Number]("", RawList{}); err != nil || none != nil {
		t.Error(none, err)
	}
}

func TestLater(t *testing.T) {
	var p struct {
		Given, Null, Missing RawValue
	}
	type form struct {
		Given   RawValue `json:"given"`
		Null    RawValue `json:"null"`
		Missing RawValue `json:"missing"`
	}
	f := form(p)
	if err := ReadParam("it", json.RawMessage(` {"given":{"a":[1]},"null":null} `), &f); err != nil {
		t.Fatal(err)
	}
	if !f.Given.Set() || string(f.Given.JSON()) != `{"a":[1]}` || f.Null.Set() || f.Missing.Set() ||
		f.Missing.JSON() != nil {
		t.Errorf("%+v", f)
	}
	if err := MissingParam("params[0].tx"); err.Error() != "invalid params: params[0].tx: missing" {
		t.Error(err)
	}
}

// A schema of ours that cannot be read is a mistake that the first request must show.
func TestUnreadableSchema(t *testing.T) {
	defer func() {
		if r := recover(); fmt.Sprint(r) != "param: no way to read a float64" {
			t.Error(r)
		}
	}()
	var f float64
	_ = ReadParam("", json.RawMessage(`1`), &f)
}

type prepared struct {
	Outer Number `json:"outer"`
	Inner []*struct {
		Hash *HashParam `json:"hash"`
	} `json:"inner"`
}

var _ = Prepare[prepared]()

// What is prepared is planned with what is in it, and read as what is not.
func TestPrepare(t *testing.T) {
	outer := plans[reflect.TypeFor[prepared]()]
	inner := plans[reflect.TypeFor[prepared]().Field(1).Type.Elem().Elem()]
	if outer == nil || inner == nil || len(inner.fields) != 1 || plans[reflect.TypeFor[HashParam]()] != nil {
		t.Errorf("%+v, %+v", outer, inner)
	}
	type unprepared prepared
	params := json.RawMessage(`[{"outer":7,"inner":[{"hash":"0x` + strings.Repeat("ab", 32) + `"}]}]`)
	var one prepared
	var other unprepared
	if err := errors.Join(ReadPositional(params, &one), ReadPositional(params, &other)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(one, prepared(other)) || one.Outer.Value != 7 || one.Inner[0].Hash[0] != 0xab {
		t.Errorf("%+v, %+v", one, other)
	}
}
