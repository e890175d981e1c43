package probe

import (
	"fmt"

	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// BlockHash returns the hash of the execution block that a submission's content describes. The root
// of the parent's beacon block, which is part of it from deneb on, is no part of a submission.
func BlockHash(fork eth.Fork, s *builderfulu.SubmitBlockRequest, parentRoot phase0.Root) (phase0.Hash32, error) {
	var root *common.Hash
	var versioned []common.Hash
	var requests [][]byte
	if fork.HasBlobs() {
		of := common.Hash(parentRoot)
		root, versioned = &of, []common.Hash{}
		for _, commitment := range s.BlobsBundle.Commitments {
			versioned = append(versioned, payload.VersionedHash(commitment))
		}
	}
	if fork.HasRequests() {
		var err error
		if requests, err = payload.EncodeRequests(s.ExecutionRequests); err != nil {
			return phase0.Hash32{}, fmt.Errorf("encode execution requests: %w", err)
		}
	}
	// the hash that the payload names is not compared
	block, err := engine.ExecutableDataToBlockNoHash(payload.ToEngine(fork, s.ExecutionPayload), versioned, root, requests)
	if err != nil {
		return phase0.Hash32{}, fmt.Errorf("make a block: %w", err)
	}
	return phase0.Hash32(block.Hash()), nil
}
