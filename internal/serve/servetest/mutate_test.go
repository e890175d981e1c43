package servetest

import (
	"encoding/json"
	"strings"
	"testing"
)

// Each document is bent where it says, and nowhere else.
func TestMutations(t *testing.T) {
	const good = `{"a":{"hash":"0x0102","n":"7"},"list":["0x00","0x01","0x02"],"ok":true,"n":5}`
	found := map[string]string{}
	for _, document := range Mutations([]byte(good)) {
		if string(document.Body) == good {
			t.Errorf("%s bends nothing", document)
		}
		if _, twice := found[document.String()]; twice {
			t.Errorf("%s comes twice", document)
		}
		found[document.String()] = string(document.Body)
	}
	for what, want := range map[string]string{
		"a.hash: a byte less": strings.Replace(good, "0x0102", "0x02", 1),
		"a.n: bare":           strings.Replace(good, `"7"`, "7", 1),
		"list.1: null":        strings.Replace(good, `"0x01"`, "null", 1),
		"a: twice": strings.Replace(good, `"a":{"hash":"0x0102","n":"7"}`,
			`"a":{"hash":"0x0102","n":"7"},"a":{"hash":"0x0102","n":"7"}`, 1),
		"list: with a long s":       strings.Replace(good, `"list"`, `"liſt"`, 1),
		"n: quoted":                 strings.Replace(good, `5`, `"5"`, 1),
		": tail \"]\"":              good + "]",
		"a.hash: also in capitals":  strings.Replace(good, `"hash":"0x0102"`, `"HASH":"0x0102","hash":"0x0102"`, 1),
		"a: an object":              "",
		"list.2: null":              "",
		"ok: missing":               strings.Replace(good, `"ok":true,`, "", 1),
		"n: missing":                strings.Replace(good, `,"n":5`, "", 1),
		"a.hash: twice, null first": strings.Replace(good, `"hash":"0x0102"`, `"hash":null,"hash":"0x0102"`, 1),
	} {
		if found[what] != want {
			t.Errorf("%s is %s, want %s", what, found[what], want)
		}
	}
	t.Logf("%d documents", len(found))
	if !json.Valid([]byte(found["a: twice"])) {
		t.Error("a name twice is JSON")
	}
}
