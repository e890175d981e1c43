package send

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	got, err := Parse([]byte(`
- name: Default
  url: https://builder.example.org
  apis: [eth_sendBundle, mev_sendBundle, cancel]
- name: other
  url: http://127.0.0.1:8645/rpc
  own: true
`))
	want := []Builder{
		{Name: "Default", URL: "https://builder.example.org", APIs: []string{APIBundle, APIShare, APICancel}},
		{Name: "other", URL: "http://127.0.0.1:8645/rpc", Own: true},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if empty, err := Parse(nil); len(empty) != 0 || err != nil {
		t.Errorf("an empty file is %v, %v; want nobody", empty, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":   {"- name: a\n  url: http://a\n  colour: red", "[3:3] unknown field"},
		"not a list":    {"name: a", "[1:5]"},
		"a strange tag": {"!0 000", "not YAML that can be read"},
		"no name":       {"- url: http://a", `builder 1 (""): name: is missing`},
		"no url":        {"- name: a", `builder 1 ("a"): url: ""`},
		"other scheme":  {"- name: a\n  url: ftp://a", `builder 1 ("a"): url: "ftp://a"`},
		"no host":       {"- name: a\n  url: 'http://'", `builder 1 ("a"): url:`},
		"unknown API":   {"- name: a\n  url: http://a\n  apis: [eth_mine]", `builder 1 ("a"): apis: "eth_mine"`},
		"the same name": {"- {name: a, url: http://a}\n- {name: A, url: http://b}",
			`builder 2 ("A"): name: there is another`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("- name: a\n  url: http://a\n  apis: [cancel]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := Parse(text)
		if err != nil {
			return
		}
		for _, b := range list {
			if b.Name == "" || !b.Has(APIBundle) && !b.Has(APIShare) {
				t.Errorf("%+v was read, and nobody can send it anything", b)
			}
		}
	})
}
