package bidder

import (
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/devnet/agent/builder"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// rehash gives a changed block the hash that it then has, so that only executing it shows what is
// wrong with it.
func (b *Bidder) rehash(a builder.Attributes, built *chain.Built, block *payload.Payload) error {
	var hashes []common.Hash
	var root *common.Hash
	var items [][]byte
	if built.Fork >= eth.Deneb {
		hashes, root = []common.Hash{}, (*common.Hash)(&a.ParentRoot)
		for _, commitment := range built.Blobs.Commitments {
			hashes = append(hashes, payload.VersionedHash(commitment))
		}
	}
	if built.Fork >= eth.Electra {
		var err error
		if items, err = payload.EncodeRequests(built.Requests); err != nil {
			return fmt.Errorf("hash changed block: %w", err)
		}
	}
	whole, err := engine.ExecutableDataToBlockNoHash(payload.ToEngine(built.Fork, block), hashes, root, items)
	if err != nil {
		return fmt.Errorf("hash changed block: %w", err)
	}
	block.BlockHash = phase0.Hash32(whole.Hash())
	return nil
}
