package rpc_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/rpc"
)

// What is written by hand is what encoding/json writes, whatever an order has: also of fields that
// it did not have when this was written.
func TestOrderAcceptedAppendJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var fact rpc.OrderAccepted
		fill(t, reflect.ValueOf(&fact).Elem(), 12)
		want, err := json.Marshal(fact)
		if err != nil {
			t.Fatal(err)
		}
		got, err := fact.AppendJSON([]byte("before "))
		if err != nil || string(got) != "before "+string(want) {
			t.Fatalf("%v\ngot  %s\nwant before %s", err, got, want)
		}
	})
}

// fill sets a value to anything; what lies deeper stays zero.
func fill(t *rapid.T, v reflect.Value, depth int) {
	if depth == 0 {
		return
	}
	switch value := v.Addr().Interface().(type) {
	case *time.Time:
		*value = time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
		return
	case *rpc.Kind:
		*value = rapid.SampledFrom([]rpc.Kind{"", rpc.KindBundle, rpc.KindShare, rpc.KindPrivate}).Draw(t, "kind")
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), depth-1)
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), depth-1)
		}
	case reflect.Slice:
		if rapid.Bool().Draw(t, "some") {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		for range rapid.IntRange(0, 2).Draw(t, "length") {
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			fill(t, v.Index(v.Len()-1), depth-1)
		}
	case reflect.Array:
		if rapid.Bool().Draw(t, "nonzero") {
			for i := range v.Len() {
				fill(t, v.Index(i), depth-1)
			}
		}
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "text"))
	case reflect.Int:
		v.SetInt(rapid.Int64().Draw(t, "int"))
	case reflect.Uint8, reflect.Uint16, reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "uint") & (1<<v.Type().Bits() - 1))
	default:
		t.Fatalf("no way to fill a %s", v.Type())
	}
}

// A time that RFC 3339 cannot write is an error here too.
func TestOrderAcceptedRefusesATime(t *testing.T) {
	for name, fact := range map[string]rpc.OrderAccepted{
		"of the fact":  {At: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"of the order": {Order: &rpc.Order{ReceivedAt: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)}},
	} {
		if data, err := fact.AppendJSON(nil); err == nil || data != nil {
			t.Errorf("%s: %s, %v", name, data, err)
		}
	}
}
