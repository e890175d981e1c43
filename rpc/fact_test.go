package rpc

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// A message is a fact, or a list of facts; an error of the one who reads ends the reading.
func TestEachFact(t *testing.T) {
	enough := errors.New("enough")
	for _, row := range []struct{ message, want, err string }{
		{`{"a":1}`, `[{"a":1}]`, ""},
		{`[{"a":[1,2]},{"text":"],["},{}]`, `[{"a":[1,2]} {"text":"],["} {}]`, ""},
		{`[]`, `[]`, ""},
		{``, `[]`, ""},
		{`[{}`, `[]`, "read a list of facts: "},
		{`[{"a":1},{"end":1},{"b":2}]`, `[{"a":1} {"end":1}]`, "enough"},
	} {
		read := []string{}
		err := EachFact([]byte(row.message), func(fact []byte) error {
			if len(fact) > 0 {
				read = append(read, string(fact))
			}
			if strings.Contains(string(fact), "end") {
				return enough
			}
			return nil
		})
		if fmt.Sprint(read) != row.want || (err == nil) != (row.err == "") || err != nil &&
			!strings.HasPrefix(err.Error(), row.err) {
			t.Errorf("%s: %v, %v, want %s, %q", row.message, read, err, row.want, row.err)
		}
	}
}
