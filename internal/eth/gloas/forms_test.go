package gloas

import (
	"reflect"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

var minimal = FormsOf(Preset{PayloadCommittee: 16, SyncCommittee: 32, CommitteesPerSlot: 4})

// form is one of the shapes of Forms, for tests of all of them. Values are pointers.
type form struct {
	name  string
	value reflect.Type
	shape reflect.Value
}

// formsIn lists all forms of a preset.
func formsIn(forms *Forms) (all []form) {
	of := reflect.ValueOf(forms).Elem()
	for i := range of.NumField() {
		field := of.Field(i)
		decode, _ := field.Type().MethodByName("Decode")
		all = append(all, form{of.Type().Field(i).Name, decode.Type.Out(0).Elem(), field})
	}
	return all
}

func formNamed(t testing.TB, forms *Forms, name string) form {
	t.Helper()
	for _, f := range formsIn(forms) {
		if strings.EqualFold(f.name, name) {
			return f
		}
	}
	t.Fatalf("no form is called %s", name)
	return form{}
}

func (f form) call(method string, argument any) (any, error) {
	out := f.shape.MethodByName(method).Call([]reflect.Value{reflect.ValueOf(argument)})
	err, _ := out[1].Interface().(error)
	return out[0].Interface(), err
}

func (f form) encode(v any) ([]byte, error) {
	raw, err := f.call("Encode", v)
	return raw.([]byte), err
}

func (f form) toJSON(v any) ([]byte, error) {
	raw, err := f.call("ToJSON", v)
	return raw.([]byte), err
}

func (f form) decode(raw []byte) (any, error)   { return f.call("Decode", raw) }
func (f form) fromJSON(raw []byte) (any, error) { return f.call("FromJSON", raw) }

func (f form) root(v any) (phase0.Root, error) {
	root, err := f.call("Root", v)
	return root.(phase0.Root), err
}
