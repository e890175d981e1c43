package jsonscan_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/jsonscan"
)

const deep = 9000 // less than encoding/json takes

func scan(text string) *jsonscan.Scanner {
	return &jsonscan.Scanner{Doc: []byte(text), MaxDepth: deep}
}

// documents are JSON, and not, in all the ways in which the grammar can be missed.
var documents = strings.Fields(`
	{} [] "" 0 -0 7 -7 1.5 1e5 1E-5 1.5e+05 true false null {"a":1} {"a":{"b":[1,2,"c"]},"d":null} ["\u0041\ud800\n\\\"\/\b"]
	01 +1 1. .5 1e 1e+ - -a 0x1 nul nulls tru NaN ' 'a' {a:1} {"a"} {"a":} {"a":1,} {"a" 1} {,} [,] [1,] [1 [1,2 ]1[ {} } ]
	"a "\x" "\u12" "\u12g4" "\" "\\ [1}2] {"a":1] [{]} "a""b" 1,2 : , {"a":1}{} {"":"" {"a":1:2} ["a":1]`)

func init() {
	documents = append(documents, "", " ", "\x00", "\"a\x01b\"", "\"a\x1f\"", "\"a\x7f\"", "\"\x80\xff\"", "\"über\"",
		"[1 ,\t2\r\n]",
		"\ufeff{}", "1 2", "[\x0b1]", "\"abcdefg\x01\"", "\"abcdefgh\\\"ijklmnop\"", "\"abcdefghij\xc3\xbcklmnopq\\u00fc\"",
		strings.Repeat("[", 40)+strings.Repeat("]", 40), `"`+strings.Repeat("0123456789abcdef", 20))
}

// agree: the scanner takes for JSON what the standard library takes for it, and finds the same in
// it.
func agree(t rapid.TB, text string) {
	t.Helper()
	s := scan(text)
	value, err := s.Value()
	var syntax *jsonscan.SyntaxError
	if err != nil && !errors.As(err, &syntax) {
		t.Fatalf("%q: %T", text, err)
	}
	valid := err == nil && s.AtEnd()
	if syntax != nil && syntax.IsTooDeep() {
		return
	}
	if valid != json.Valid([]byte(text)) {
		t.Fatalf("%q: %v, encoding/json says %v", text, err, !valid)
	}
	unchecked, rawErr := scan(text).Raw() // of any text it must not panic
	if !valid {
		return
	}
	if rawErr != nil || string(unchecked) != string(value) {
		t.Fatalf("%q: unchecked it is %q, %v", text, unchecked, rawErr)
	}
	switch value[0] {
	case '"':
		agreeText(t, value)
	case '[':
		agreeList(t, value)
	case '{':
		agreeObject(t, value)
	}
}

func agreeText(t rapid.TB, quoted []byte) {
	t.Helper()
	var want string
	if err := json.Unmarshal(quoted, &want); err != nil {
		t.Fatal(err)
	}
	if got, err := scan(string(quoted)).Text(); err != nil || string(got) != want {
		t.Fatalf("%q: %q, %v, want %q", quoted, got, err, want)
	}
	raw, err := scan(string(quoted)).RawText()
	if plain := utf8.Valid(quoted); plain && (err != nil || string(raw) != want) {
		t.Fatalf("%q: unchecked %q, %v, want %q", quoted, raw, err, want)
	}
}

func agreeList(t rapid.TB, text []byte) {
	t.Helper()
	var want []json.RawMessage
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	var got []json.RawMessage
	s := scan(string(text))
	err := s.Items(func() error {
		raw, err := s.Raw()
		got = append(got, raw)
		return err
	})
	same := slices.EqualFunc(got, want, func(a, b json.RawMessage) bool { return string(a) == string(b) })
	if err != nil || !same {
		t.Fatalf("%q: %q, %v, want %q", text, got, err, want)
	}
}

func agreeObject(t rapid.TB, text []byte) {
	t.Helper()
	var want map[string]json.RawMessage
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	got := map[string]json.RawMessage{}
	s := scan(string(text))
	err := s.Members(func(name []byte) (err error) {
		got[string(name)], err = s.Value()
		return err
	})
	if err != nil || len(got) != len(want) {
		t.Fatalf("%q: %q, %v, want %q", text, got, err, want)
	}
	for name, value := range want {
		if string(got[name]) != string(value) {
			t.Fatalf("%q: %s is %q, want %q", text, name, got[name], value)
		}
	}
}

func TestScannerAgreesWithTheLibrary(t *testing.T) {
	for _, text := range documents {
		agree(t, text)
		agree(t, " "+text+"\n")
		agree(t, "["+text+","+text+"]")
		agree(t, `{"a":`+text+`}`)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(documents).Draw(t, "document") + rapid.SampledFrom(documents).Draw(t, "more")
		if at := rapid.IntRange(0, len(text)).Draw(t, "at"); at < len(text) {
			text = text[:at] + string(rapid.SampledFrom([]byte("{}[]\":,\\ 0xe\x00\x1f\n\xff\xc5")).Draw(t,
				"byte")) + text[at+1:]
		}
		agree(t, text)
	})
}

// Every byte in every place of a word of eight, since strings are looked at by such words.
func TestEveryByteInAString(t *testing.T) {
	for b := range 256 {
		for place := range 18 {
			text := []byte(`"0123456789abcdefg"`)
			text[1+place%17] = byte(b)
			agree(t, string(text))
		}
	}
}

// How deep a document may be is the caller's to say.
func TestMaxDepth(t *testing.T) {
	for _, shape := range []struct{ open, end string }{{"[", "]"}, {`{"a":`, "}"}} {
		nest := func(levels int) string {
			return strings.Repeat(shape.open, levels) + "1" + strings.Repeat(shape.end, levels)
		}
		for levels, want := range map[int]bool{3: false, 4: true} {
			s := scan(nest(levels))
			s.MaxDepth = 3
			_, err := s.Value()
			var syntax *jsonscan.SyntaxError
			if tooDeep := errors.As(err, &syntax) && syntax.IsTooDeep(); tooDeep != want {
				t.Errorf("%s: %v", nest(levels), err)
			}
		}
	}
}

// Where a text ceases to be JSON is said by its byte.
func TestErrorsSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1 "b":2}`: "comma or } expected at byte 7: not JSON at byte 7",
		`[1 2]`:         "comma or ] expected at byte 3: not JSON at byte 3",
		`{1:2}`:         "key expected at byte 1: not JSON at byte 1",
		`{"a" 2}`:       "colon expected at byte 5: not JSON at byte 5",
		`["a`:           "unexpected end at byte 3: not JSON: it ends early",
		"[\"a\x01\"]":   "control character in a string at byte 3: not JSON at byte 3",
		`["\x"]`:        "unknown escape at byte 3: not JSON at byte 3",
		`["\u00g0"]`:    "hex digit expected at byte 6: not JSON at byte 6",
		`[1.]`:          "digit expected at byte 3: not JSON at byte 3",
		`[?]`:           "value expected at byte 1: not JSON at byte 1",
	} {
		_, err := scan(text).Value()
		var e *jsonscan.SyntaxError
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := e.Says() + ": " + e.Error(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, text := range documents {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { agree(t, text) })
}

// bodies have the form of what the services are sent most: a row of hexadecimal digits, and many
// short names and texts.
var bodies = map[string]string{
	"digits": `{"jsonrpc":"2.0","id":1,"method":"eth_sendBundle","params":[{"txs":["0x` + strings.Repeat("0f", 930) +
		`"],"blockNumber":"0xb63dcd"}]}`,
	"names": "[" +
		strings.TrimSuffix(strings.Repeat(`{"message":{"fee_recipient":"0xabcf8e0d4e9587369b2301d0790347320302cc09",`+
			`"gas_limit":"30000000","timestamp":"1606824023"}},`, 20), ",") + "]",
}

func BenchmarkValue(b *testing.B) {
	for name, body := range bodies {
		b.Run(name, func(b *testing.B) {
			doc := []byte(body)
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				s := jsonscan.Scanner{Doc: doc, MaxDepth: 500}
				if _, err := s.Value(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/encoding-json", func(b *testing.B) {
			doc := []byte(body)
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				if !json.Valid(doc) {
					b.Fatal()
				}
			}
		})
	}
}

// A list that is too long is not read to its end, and an error says at which value it was.
func TestItemsUpTo(t *testing.T) {
	tooMany := errors.New("no room")
	for text, want := range map[string]string{
		"[1,2]": "", "[]": "", "[1,2,3]": "more than 2: no room", "[1,true]": "item 1: true: want a number",
		"[1,{}]": "item 1: an object: want a number", `["1"]`: "item 0: text: want a number",
		"[[]]": "item 0: a list: want a number",
	} {
		s := jsonscan.Scanner{Doc: []byte(text), MaxDepth: 4}
		got := ""
		if err := s.ItemsUpTo(2, tooMany, func() error {
			if first := s.Peek(); first < '0' || first > '9' {
				return s.Wrong("a number")
			}
			_, err := s.Value()
			return err
		}); err != nil {
			got = err.Error()
		}
		if strings.ReplaceAll(got, `"`, "") != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
