package jsonrpc_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/rpc/jsonrpc"
)

// Which of the headers of a request counts.
func TestSigner(t *testing.T) {
	good, _ := vectors(t)
	body := []byte(good[1].fields["body"])
	right, wrong := good[1].fields["header"], good[2].fields["header"]
	usual := jsonrpc.SignatureScheme{}
	for name, row := range map[string]struct {
		scheme  jsonrpc.SignatureScheme
		headers []string // name, value, …
		says    string   // empty if accepted
	}{
		"the usual name":            {usual, []string{"X-Flashbots-Signature", right}, ""},
		"the name in small letters": {usual, []string{"x-flashbots-signature", right}, ""},
		"the neutral name":          {usual, []string{"X-Vendor-Signature", right}, ""},
		"the third name":            {usual, []string{"X-BuilderNet-Signature", right}, ""},
		"another's name":            {usual, []string{"X-Signature", right}, "no header X-Flashbots-Signature, X-Vendor"},
		"none":                      {usual, nil, "signature is required"},
		"twice the same":            {usual, []string{"X-Flashbots-Signature", right, "X-Flashbots-Signature", right}, ""},
		"twice, differing": {usual, []string{"X-Flashbots-Signature", right, "X-Flashbots-Signature", wrong},
			"comes more than once"},
		"two names, the same": {usual, []string{"X-Flashbots-Signature", right, "X-Vendor-Signature", right}, ""},
		"two names, differing": {usual, []string{"X-Vendor-Signature", wrong, "X-Flashbots-Signature", right},
			"Signature differ"},
		"empty":                {usual, []string{"X-Flashbots-Signature", ""}, "signature is required"},
		"empty beside another": {usual, []string{"X-Flashbots-Signature", "", "X-Vendor-Signature", right}, "differ"},
		"a name of the operator": {jsonrpc.SignatureScheme{Headers: []string{"X-House-Signature"}},
			[]string{"X-House-Signature", right}, ""},
		"only the operator's counts": {jsonrpc.SignatureScheme{Headers: []string{"X-House-Signature"}},
			[]string{"X-Flashbots-Signature", right}, "signature is required"},
	} {
		t.Run(name, func(t *testing.T) {
			headers := http.Header{}
			for i := 0; i < len(row.headers); i += 2 {
				headers.Add(row.headers[i], row.headers[i+1])
			}
			signer, refused := row.scheme.Signer(headers.Values, body)
			switch {
			case row.says == "" && (refused != nil || signer.Hex() != good[1].fields["address"]):
				t.Errorf("%v, %v", signer, refused)
			case row.says != "" && (refused == nil || !strings.Contains(refused.Error(), row.says)):
				t.Errorf("%v, want %q", refused, row.says)
			}
		})
	}
}
