package servetest

import (
	"strconv"
	"strings"
)

// value is a value of the good document, with its path and position. A member of an object has a
// name.
type value struct {
	where, name          string
	from, to             int
	memberFrom, memberTo int // position of name and value, without commas
	text                 string
}

// bent are the wrong texts for the value's place, by the name of the mutation.
func (v value) bent() map[string]string {
	bent := map[string]string{"null": "null", "true": "true", "false": "false", "a list": "[]", "a list of a list": "[[]]",
		"an object":  "{}",
		"a fraction": "1.5", "no value": "", "a word": "nul"}
	if v.name == "" && v.where != "" {
		delete(bent, "no value") // the list may be right without the item
	}
	switch v.text[0] {
	case '{':
		delete(bent, "an object")
		bent["a text"], bent["a number"] = `"x"`, "1"
	case '[':
		delete(bent, "a list")
		bent["a text"], bent["a number"] = `"x"`, "1"
		if inner := v.text[1 : len(v.text)-1]; inner != "" {
			bent["a comma more"] = "[" + inner + ",]"
		}
	case '"':
		inner := v.text[1 : len(v.text)-1]
		bent["no text"], bent["a blank before"], bent["a blank behind"] = `""`, `" `+inner+`"`, `"`+inner+` "`
		bent["a line end behind"], bent["a NUL behind"] = `"`+inner+`\n"`, `"`+inner+`\u0000"`
		bent["other quotes"], bent["open"] = "'"+inner+"'", `"`+inner
		if strings.HasPrefix(inner, "0x") {
			bendBytes(bent, inner[2:])
		} else if _, err := strconv.ParseUint(inner, 10, 64); err == nil {
			bendDecimal(bent, inner)
		}
	default:
		bent["a text"] = `"x"`
		if _, err := strconv.ParseUint(v.text, 10, 64); err == nil {
			bent["below zero"], bent["a leading zero"], bent["a plus"] = "-"+v.text+"1", "0"+v.text, "+"+v.text
			bent["quoted"], bent["too great"] = `"`+v.text+`"`, "18446744073709551616"
		} else {
			delete(bent, "true")
			delete(bent, "false")
		}
	}
	return bent
}

func bendBytes(bent map[string]string, digits string) {
	bent["a number"] = "1"
	bent["a byte more"], bent["twice as long"] = `"0x`+digits+`00"`, `"0x`+digits+digits+`00"`
	bent["a megabyte"] = `"0x` + strings.Repeat("00", 1<<20) + `"`
	bent["no bytes"], bent["no 0x"], bent["0X"] = `"0x"`, `"`+digits+`"`, `"0X`+digits+`"`
	bent["half a byte more"] = `"0x` + digits + `0"`
	if len(digits) > 2 {
		bent["a byte less"], bent["half a byte less"] = `"0x`+digits[2:]+`"`, `"0x`+digits[1:]+`"`
	}
	if digits != "" {
		bent["other letters"] = `"0x` + digits[:len(digits)-1] + `g"`
		bent["other letters outside ASCII"] = `"0x` + digits[:len(digits)-1] + "\u0661" + `"`
	}
}

func bendDecimal(bent map[string]string, digits string) {
	bent["bare"] = digits
	bent["below zero"], bent["a plus"], bent["a leading zero"] = `"-`+digits+`"`, `"+`+digits+`"`, `"0`+digits+`"`
	bent["a fraction in quotes"], bent["an exponent"], bent["an underscore"] = `"`+digits+`.0"`, `"1e3"`, `"1_0"`
	bent["hexadecimal"], bent["too great"], bent["a letter"] = `"0x1"`, `"`+strings.Repeat("9", 78)+`"`, `"`+digits+`a"`
}

// without is the document without the member.
func (v value) without(document string) string {
	from, to := v.memberFrom, v.memberTo
	switch {
	case document[to] == ',':
		to++
	case document[from-1] == ',':
		from--
	}
	return document[:from] + document[to:]
}

// bentMember are the wrong texts for the place of name and value.
func (v value) bentMember(document string) map[string]string {
	if v.name == "" {
		return nil
	}
	member := document[v.memberFrom:v.memberTo]
	as := func(name string) string { return `"` + name + `":` + v.text }
	bent := map[string]string{
		"twice": member + "," + member, "twice, null first": `"` + v.name + `":null,` + member,
		"twice, null last": member + `,"` + v.name + `":null`,
	}
	capitals := []struct{ what, name string }{
		{"in capitals", strings.ToUpper(v.name)}, {"with a capital", strings.ToUpper(v.name[:1]) + v.name[1:]},
		{"with a long s", strings.Replace(v.name, "s", "\u017f", 1)}, {"with a Kelvin sign",
			strings.Replace(v.name, "k", "\u212a", 1)},
	}
	for _, c := range capitals {
		if c.name != v.name {
			bent[c.what], bent["also "+c.what] = as(c.name), as(c.name)+","+member
		}
	}
	return bent
}
