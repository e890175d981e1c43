package deliver

import (
	"testing"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// REL-PAY-14: in each fork a block is refused unless its header, its commitments and its requests
// are those of the payload.
func TestHeaderMustBeThePayloads(t *testing.T) {
	for _, fork := range eth.Forks() {
		served := func() *payload.Payload {
			return &payload.Payload{BaseFeePerGas: uint256.NewInt(7), Transactions: []bellatrix.Transaction{{1, 2, 3}}}
		}
		contents := &relay.Contents{
			Fork: fork, Payload: served(), Blobs: &payload.Blobs{Commitments: []deneb.KZGCommitment{{1}}},
			Requests: payload.EmptyRequests(),
		}
		block := func(change func(*payload.Payload)) *relay.BlindedBlock {
			signed := served()
			change(signed)
			header, err := payload.HeaderOf(fork, signed)
			if err != nil {
				t.Fatal(err)
			}
			return &relay.BlindedBlock{Fork: fork, Header: header, Commitments: []deneb.KZGCommitment{{1}},
				Requests: payload.EmptyRequests()}
		}
		if refused := checkHeader(block(func(*payload.Payload) {}), contents); refused != nil {
			t.Errorf("%s: the payload's own header: %v", fork, refused)
		}
		for name, change := range map[string]func(*payload.Payload){
			"gas_used":          func(p *payload.Payload) { p.GasUsed++ },
			"timestamp":         func(p *payload.Payload) { p.Timestamp++ },
			"base_fee_per_gas":  func(p *payload.Payload) { p.BaseFeePerGas.AddUint64(p.BaseFeePerGas, 1) },
			"state_root":        func(p *payload.Payload) { p.StateRoot[0]++ },
			"transactions_root": func(p *payload.Payload) { p.Transactions[0][0]++ },
			"prev_randao":       func(p *payload.Payload) { p.PrevRandao[0]++ },
			"parent_hash":       func(p *payload.Payload) { p.ParentHash[0]++ },
		} {
			if refused := checkHeader(block(change), contents); refused == nil {
				t.Errorf("%s: another %s passes", fork, name)
			}
		}
		other := block(func(*payload.Payload) {})
		other.Commitments = nil
		if refused := checkHeader(other, contents); (refused != nil) != fork.HasBlobs() {
			t.Errorf("%s: other commitments: %v", fork, refused)
		}
		other = block(func(*payload.Payload) {})
		other.Requests.Withdrawals = []*electra.WithdrawalRequest{{Amount: 1}}
		if refused := checkHeader(other, contents); (refused != nil) != fork.HasRequests() {
			t.Errorf("%s: other requests: %v", fork, refused)
		}
	}
}
