package wire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// Crumbs that are no transactions are refused in both encodings of every fork, before there is a
// list of them; the first thousand, and any number of a usual length, are not.
func TestTransactionsThatAreTooManyForTheirLength(t *testing.T) {
	forEach(t, func(t *testing.T, fork eth.Fork, s source) {
		for _, row := range []struct {
			count, bytes int
			fine         bool
		}{{eth.FewTransactions, 1, true}, {3 * eth.FewTransactions, 110, true}, {20 * eth.FewTransactions, 1, false}} {
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

// The same in gloas, where a body of tiny transactions would take six times its memory.
func TestTransactionsOfGloasThatAreTooMany(t *testing.T) {
	for _, row := range []struct {
		count, bytes int
		fine         bool
	}{{eth.FewTransactions, 1, true}, {3 * eth.FewTransactions, 110, true}, {20 * eth.FewTransactions, 1, false},
		{20 * eth.FewTransactions, 0, false}} {
		s := &relay.Submission{
			Fork: eth.Gloas, Trace: &relay.BidTrace{Value: new(uint256.Int)}, Requests: payload.EmptyRequests(),
			Payload: &payload.Payload{BaseFeePerGas: new(uint256.Int)}, Blobs: &payload.Blobs{},
			Gloas: &payload.Gloas{AccessList: []byte{0xc0}},
		}
		s.Payload.Transactions = make([]bellatrix.Transaction, row.count)
		for i := range s.Payload.Transactions {
			s.Payload.Transactions[i] = bytes.Repeat([]byte{2}, row.bytes)
		}
		for _, media := range []Media{JSON, SSZ} {
			body, err := EncodeSubmission(media, s)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = DecodeSubmission(eth.Gloas, media, body); (err == nil) != row.fine {
				t.Errorf("%s, %d of %d bytes: %v", media.ContentType(), row.count, row.bytes, err)
			}
		}
	}
}
