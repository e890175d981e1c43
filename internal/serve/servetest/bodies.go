package servetest

import (
	"fmt"
	"strings"
)

// Body is a hostile request body of nearly a given length.
type Body struct {
	Name string
	Text []byte
}

// Bodies are documents of about size bytes, none of which is a valid request. within are beginnings
// of valid documents, up to where a value must follow. The bad value is put there, too, so that a
// decoder meets it deeper in the document.
func Bodies(size int, within ...string) (all []Body) {
	for _, begin := range append([]string{""}, within...) {
		for name, value := range values(max(1, size-len(begin))) {
			if begin != "" {
				name += " behind " + begin[max(0, len(begin)-40):]
			}
			all = append(all, Body{Name: name, Text: []byte(begin + value)})
		}
	}
	return all
}

func values(size int) map[string]string {
	fill := func(open, item, end string) string {
		return open + strings.Repeat(item, max(1, (size-len(open)-len(end))/len(item))) + end
	}
	var names strings.Builder
	names.WriteByte('{')
	for i := 0; names.Len() < size; i++ {
		fmt.Fprintf(&names, `"%x":0,`, i)
	}
	names.WriteString(`"":0}`)
	return map[string]string{
		"zeros": fill("[", "0,", "0]"), "nulls": fill("[", "null,", "null]"), "empty objects": fill("[", "{},", "{}]"),
		"empty lists": fill("[", "[],", "[]]"), "empty texts": fill("[", `"",`, `""]`), "no bytes": fill("[",
			`"0x",`, `"0x"]`),
		"single bytes": fill("[", `"0x00",`, `"0x00"]`), "small numbers": fill("[", `"0",`, `"0"]`),
		"objects with a name": fill("[", `{"a":0},`, `{}]`),
		"deep lists":          fill("", "[", ""), "deep objects": fill("", `{"a":`, ""),
		"deep lists that end": strings.Repeat("[",
			size/2) + strings.Repeat("]", size/2),
		"a long text": fill(`"`, "a", `"`), "a long text of escapes": fill(`"`, `\u0061`, `"`),
		"a long text outside ASCII": fill(`"`, "ſ", `"`),
		"long bytes":                fill(`"0x`, "00", `"`), "long bytes in escapes": fill(`"0x`, `\u0030`, `"`),
		"a long number": fill("", "1", ""),
		"a long name":   fill(`{"`, "a", `":0}`), "a long name of escapes": fill(`{"`, `\u0061`, `":0}`),
		"names":         names.String(),
		"the same name": fill("{", `"a":0,`, `"a":0}`), "blanks": fill("", " ", ""), "long texts": fill("[",
			`"`+strings.Repeat("a", 1000)+`",`, `""]`),
		"text that never ends": fill(`"`, `\"`, ""), "half a list": fill("[", "{},", ""), "not JSON": fill("", "x", ""),
	}
}
