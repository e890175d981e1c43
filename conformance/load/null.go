package load

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Null answers as a relay or a bundle RPC does, at once, and does nothing: it reads what it is
// sent, and always serves the same header and the same hash. So it shows how much load this program
// can make. All that it says is wrong.
func Null(fork eth.Fork) (http.Handler, error) {
	bid, err := probe.Bid(fork, &builderelectra.SignedBuilderBid{Message: &builderelectra.BuilderBid{
		Header: &deneb.ExecutionPayloadHeader{BaseFeePerGas: new(uint256.Int)}, Value: new(uint256.Int),
		BlobKZGCommitments: []deneb.KZGCommitment{},
		ExecutionRequests: &electra.ExecutionRequests{Deposits: []*electra.DepositRequest{},
			Withdrawals: []*electra.WithdrawalRequest{}, Consolidations: []*electra.ConsolidationRequest{}},
	}}).MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("make a header: %w", err)
	}
	payload, err := probe.Payload(fork, &builderfulu.ExecutionPayloadAndBlobsBundle{
		ExecutionPayload: &deneb.ExecutionPayload{BaseFeePerGas: new(uint256.Int), Transactions: []bellatrix.Transaction{},
			Withdrawals: []*capella.Withdrawal{}},
		BlobsBundle: &builderfulu.BlobsBundle{Commitments: []deneb.KZGCommitment{}, Proofs: []deneb.KZGProof{},
			Blobs: []deneb.Blob{}},
	}).MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("make a payload: %w", err)
	}
	envelope := func(data []byte) string { return fmt.Sprintf(`{"version":%q,"data":%s}`, fork, data) }
	header, delivered := envelope(bid), envelope(payload)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the client sees what it cannot send
		answer := "[]"
		switch {
		case strings.HasPrefix(r.URL.Path, "/eth/v1/builder/header/"):
			answer = header
		case strings.HasSuffix(r.URL.Path, "/blinded_blocks"):
			answer = delivered
		case r.URL.Path == "/": // a bundle RPC
			answer = nullHash
		}
		w.Header().Set("Content-Type", jsonType)
		_, _ = io.WriteString(w, answer)
	}), nil
}
