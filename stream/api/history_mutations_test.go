package api

import (
	"errors"
	"net/http"
	"testing"

	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

// A body says one thing, whoever reads it.
func TestMutatedBodies(t *testing.T) {
	const other = "names are exact, and others count for nothing"
	servetest.CheckMutations(t, []byte(`{"blockStart":"100","blockEnd:":"102","limit":"3"}`), func(body []byte) error {
		p := threeEvents{}
		if answer := ask(t, serving(&p), http.MethodPost, path, string(body)); answer.Code != http.StatusOK {
			return errors.New(answer.Body.String())
		}
		return nil
	},
		servetest.Exception{Where: "", What: "no*", Why: "a body may be left out"},
		servetest.Exception{Where: "*", What: "missing", Why: "a bound may be left out"},
		servetest.Exception{Where: "*", What: "null", Why: "the client that sends bodies means no bound by it"},
		servetest.Exception{Where: "*", What: "bare", Why: "that client sends numbers bare"},
		servetest.Exception{Where: "*", What: "a leading zero", Why: "as in a query, leading zeros say nothing"},
		servetest.Exception{Where: "*", What: "*in capitals", Why: other},
		servetest.Exception{Where: "*", What: "*with a capital", Why: other},
		servetest.Exception{Where: "*", What: "*with a Kelvin sign", Why: other},
	)
}
