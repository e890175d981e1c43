package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

// An operator's body says one thing only. What is left out stays as it is in a new record, and
// texts are free.
func TestMutatedBodies(t *testing.T) {
	key := bls.Derive("builder", 2).PublicKey()
	whole := fmt.Sprintf(
		`{"name":"beta","pubkeys":["%#x"],"api_key_sha256":"0x%s","blocked":false,"high_priority":true,"optimistic":true,`+
			`"collateral_wei":"7","header_first":false,"why":"quick"}`, key[:], strings.Repeat("ab", 32))
	const reason = "a reason is any text, or none"
	var free []servetest.Exception
	for _, what := range []string{"no text", "a blank before", "a blank behind", "a line end behind",
		"a NUL behind", "missing"} {
		free = append(free, servetest.Exception{Where: "why", What: what, Why: reason})
	}
	// Without a body a record has what a new one has, and nobody gives a reason.
	optional := append(slices.Clone(free), servetest.Exception{Where: "", What: "no value", Why: "a body may be left out"},
		servetest.Exception{Where: "", What: "nothing", Why: "a body may be left out"})
	record := append(slices.Clone(optional), servetest.Exception{Where: "name", What: "no text",
		Why: "the name is the path's"},
		servetest.Exception{Where: "*", What: "missing", Why: "what is left out is as in a new record"})
	for _, what := range []string{"a leading zero", "a plus", "bare", "hexadecimal"} {
		record = append(record, servetest.Exception{Where: "collateral_wei", What: what,
			Why: "an operator writes a number as usual"})
	}
	for request, row := range map[string]struct {
		body       string
		exceptions []servetest.Exception
	}{
		"PUT /admin/v1/builders/beta":           {whole, record},
		"POST /admin/v1/builders/alpha/promote": {`{"why":"collateral"}`, optional},
		"POST /admin/v1/builders/alpha/suspend": {`{"why":"maintenance"}`, optional},
		"PUT /admin/v1/kill-switch":             {`{"on":true,"why":"a bug"}`, free},
	} {
		t.Run(request, func(t *testing.T) {
			method, path, _ := strings.Cut(request, " ")
			servetest.CheckMutations(t, []byte(row.body), func(body []byte) error {
				h := newAdminAPI(t)
				if answer := h.ask(method, path, "Bearer "+token, string(body)); answer.Code != 200 {
					return errors.New(answer.Body.String())
				}
				return nil
			}, row.exceptions...)
		})
	}
}
