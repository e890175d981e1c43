package wire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Crumbs that are no transactions are refused in both encodings of every fork, before there is a
// list of them; the first thousand, and any number of a usual length, are not.
func TestTransactionsThatAreTooManyForTheirLength(t *testing.T) {
	forEach(t, func(t *testing.T, fork eth.Fork, s source) {
		for _, row := range []struct {
			count, bytes int
			fine         bool
		}{{fewTransactions, 1, true}, {3 * fewTransactions, 110, true}, {20 * fewTransactions, 1, false}} {
			contents := s.contents(fork)
			contents.Payload.Transactions = make([]bellatrix.Transaction, row.count)
			for i := range contents.Payload.Transactions {
				contents.Payload.Transactions[i] = bytes.Repeat([]byte{2}, row.bytes)
			}
			request, err := toRequest(contents)
			if err != nil {
				t.Fatal(err)
			}
			for _, media := range []Media{JSON, SSZ} {
				body, err := encode(media, request)
				if err != nil {
					t.Fatal(err)
				}
				_, err = DecodeSubmission(fork, media, body)
				if (err == nil) != row.fine || err != nil && !strings.Contains(err.Error(), "too many for their length") {
					t.Errorf("%s, %d of %d bytes: %v", media.ContentType(), row.count, row.bytes, err)
				}
			}
		}
	})
}
