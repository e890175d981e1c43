package gloas

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"
)

// Each decoder may refuse anything, but must never panic. What it takes in SSZ is the only form of
// that value; and what it takes in JSON can be written in both forms.
func FuzzDecode(f *testing.F) {
	forms := formsIn(Mainnet)
	random := rand.New(rand.NewPCG(3, 4))
	for i, form := range forms {
		value := reflect.New(form.value)
		fill(random, value.Elem(), "")
		raw, err := form.encode(value.Interface())
		if err != nil {
			f.Fatal(err)
		}
		text, err := form.toJSON(value.Interface())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(i), false, raw)
		if len(text) < 100_000 {
			f.Add(byte(i), true, text)
		}
	}
	f.Fuzz(func(t *testing.T, which byte, isJSON bool, body []byte) {
		form := forms[int(which)%len(forms)]
		if isJSON {
			value, err := form.fromJSON(body)
			if err != nil {
				return
			}
			if body, err = form.encode(value); err != nil {
				t.Fatalf("%s was taken and can't be written: %v", form.name, err)
			}
		}
		value, err := form.decode(body)
		if err != nil {
			if isJSON {
				t.Fatalf("%s of JSON can't be read as SSZ: %v", form.name, err)
			}
			return
		}
		if again, err := form.encode(value); err != nil || !bytes.Equal(again, body) {
			t.Fatalf("%s: %x, %v: was read from %x", form.name, again, err, body)
		}
		if _, err := form.root(value); err != nil {
			t.Fatal(err)
		}
		if _, err := form.toJSON(value); err != nil {
			t.Fatal(err)
		}
	})
}
