package app

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/rpc/jsonrpc"
)

// What needs no signature is answered without one, and refused with a wrong one; all else is
// refused without.
func TestUnsigned(t *testing.T) {
	h := openService(t, nil)
	for _, row := range []struct {
		method, signature string
		want              string
	}{
		{"flashbots_getMevRefundTotalByRecipient", "", `"total":"0x0"`},
		{"vendor_getMevRefundTotalBySender", "", `"total":"0x0"`},
		{"flashbots_getMevRefundTotalBySender", jsonrpc.SignatureHeader(accountKey(7), []byte("something else")), `"error"`},
		{"flashbots_getFeeRefundTotalsByRecipient", "", `"error"`},
	} {
		body := `{"jsonrpc":"2.0","id":1,"method":"` + row.method +
			`","params":["0x000000000000000000000000000000000000dead"]}`
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if row.signature != "" {
			r.Header.Set("X-Flashbots-Signature", row.signature)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || !strings.Contains(string(text), row.want) {
			t.Errorf("%s: %s %v, want %s", row.method, text, err, row.want)
		}
	}
}
