package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/gavel-relay/gavel/rpc"
)

// everything has all the types, some of them nested.
type everything struct {
	Number  Number      `json:"number"`
	Big     BigNumber   `json:"big"`
	Block   Block       `json:"block"`
	Hash    *HashParam  `json:"hash"`
	Address *Address    `json:"address"`
	Bytes   HexBytes    `json:"bytes"`
	Percent Percent     `json:"percent"`
	UUID    UUID        `json:"uuid"`
	Flag    bool        `json:"flag"`
	Texts   []string    `json:"texts"`
	Later   RawList     `json:"later"`
	Inner   *everything `json:"inner"`
}

// Params may be anything: no panic, and every error is a refusal.
func FuzzPositional(f *testing.F) {
	f.Add([]byte(
		`[{"number":"0x10","big":7,"block":{"blockNumber":1},"hash":null,"bytes":"02","percent":-1,"uuid":"","flag":true}]`))
	f.Add([]byte(`[{"texts":["a","\""],"later":[[],{},"]"],"inner":{"inner":{"number":1.5}}},null]`))
	f.Add([]byte(`[{"number":1`))
	f.Fuzz(func(t *testing.T, params []byte) {
		var p everything
		err := ReadPositional(params, &p)
		var refused *rpc.Refused
		if err != nil && !errors.As(err, &refused) {
			t.Fatalf("%T: %v", err, err)
		}
		if err == nil {
			if _, err := p.Bytes.Bytes(); err == nil && p.Bytes.Len() > len(params) {
				t.Fatal("more bytes than text")
			}
		}
	})
}

// What the scanner finds in a JSON value is what the standard library finds.
func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[1,2,{"c":"\\\""}],"a":null}`))
	f.Add([]byte(`[1, "]", [], {}, -0.5e3, "\u005d"]`))
	f.Add([]byte(` {} `))
	f.Fuzz(func(t *testing.T, value []byte) {
		value = bytes.TrimSpace(value)
		var list []json.RawMessage
		listErr := eachElement(value, func(_ int, v []byte) error { list = append(list, v); return nil })
		object := map[string]string{}
		objectErr := eachMember(value, func(name, v []byte) error { object[string(name)] = string(v); return nil })
		if !json.Valid(value) || !utf8.Valid(value) { // in keys the library replaces what is no UTF-8
			return
		}
		var wantList []json.RawMessage
		if json.Unmarshal(value, &wantList) == nil && !isNull(value) {
			same := slices.EqualFunc(list, wantList, func(a, b json.RawMessage) bool { return string(a) == string(b) })
			if listErr != nil || !same {
				t.Fatalf("%q, %v; want %q", list, listErr, wantList)
			}
		}
		var wantObject map[string]json.RawMessage
		if json.Unmarshal(value, &wantObject) == nil && !isNull(value) {
			want := map[string]string{}
			for k, v := range wantObject {
				want[k] = string(v)
			}
			if objectErr != nil || !maps.Equal(object, want) {
				t.Fatalf("%q, %v; want %q", object, objectErr, want)
			}
		}
	})
}
