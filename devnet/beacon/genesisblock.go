package beacon

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// genesisBlock returns an empty, unsigned block of slot 0, as consensus-specs define it. Its state
// root depends on the execution genesis and the validators, so that two networks never share a
// root.
func genesisBlock(cfg Config) (*Block, error) {
	text := append([]byte("gavel devnet genesis"), cfg.GenesisHash[:]...)
	state := stateRoot(sha256.Sum256(append(text, cfg.Spec.GenesisValidatorsRoot[:]...)), 0)
	form, err := forms.Of(cfg.Spec.ForkAt(0), "blocks")
	if err != nil {
		return nil, fmt.Errorf("make genesis block: %w", err)
	}
	signed, err := sign(form.local(template{stateRoot: state}, emptyBlock(cfg)), phase0.BLSSignature{})
	if err != nil {
		return nil, fmt.Errorf("make genesis block: %w", err)
	}
	seen, err := viewSigned(cfg.Spec.ForkAt(0), signed)
	if err != nil {
		return nil, fmt.Errorf("hash genesis block: %w", err)
	}
	return &Block{
		Root: seen.root, BlockHash: cfg.GenesisHash, Fork: cfg.Spec.ForkAt(0), ArrivedAt: cfg.Spec.GenesisTime,
		randao: sha256.Sum256(binary.BigEndian.AppendUint64([]byte("gavel devnet randao"), cfg.Seed)),
		header: seen.header(), signed: signed,
	}, nil
}

// emptyBlock returns the contents of the block of slot 0: a payload of zeros. No beacon block
// contains the execution chain's genesis.
func emptyBlock(cfg Config) *chain.Built {
	return &chain.Built{
		Fork: cfg.Spec.ForkAt(0), Requests: payload.EmptyRequests(), Blobs: &payload.Blobs{},
		Payload: &payload.Payload{
			BaseFeePerGas: new(uint256.Int), ExtraData: []byte{}, Transactions: []bellatrix.Transaction{},
			Withdrawals: []*capella.Withdrawal{},
		},
	}
}
