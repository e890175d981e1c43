package run

import (
	"reflect"
	"strings"
	"testing"
)

type friend struct {
	Name string `yaml:"name"`
	Age  int    `yaml:"age"`
}

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		text string
		want []friend
		err  string // its beginning; empty for none
	}{
		{"", nil, ""},
		{"# nobody yet\n", nil, ""},
		{"- name: a\n- {name: b, age: 7}\n", []friend{{Name: "a"}, {Name: "b", Age: 7}}, ""},
		{"- name: a\n  agee: 7\n", nil, `[2:3] unknown field "agee"`},
		{"- age: old\n", nil, "[1:8] "},
		{"name: a", nil, "[1:5] "},
		{"- name: [", nil, "[1:9] "},
		{"{", nil, "[1:1] "},
		{"!0 000", nil, "not YAML that can be read: "}, // here the library panics
	} {
		list, err := DecodeList[friend]([]byte(c.text))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if !reflect.DeepEqual(list, c.want) || !strings.HasPrefix(got, c.err) || (got == "") != (c.err == "") {
			t.Errorf("%q: %v, %v; want %v, %q", c.text, list, err, c.want, c.err)
		}
	}
}

// Whatever stands in a file, it is a list or a mistake.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{"- name: a\n", "!0 000", "&a [*a]", "- <<: *x"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if list, err := DecodeList[friend](text); err != nil && list != nil {
			t.Errorf("both %v and %v", list, err)
		}
	})
}
