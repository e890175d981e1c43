package chain

import (
	"context"
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	goeth "github.com/ethereum/go-ethereum/eth"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// ErrInvalid says that the Engine API's answer for a payload is INVALID; it is wrapped with the
// reason.
var ErrInvalid = errors.New("payload is invalid")

// Import executes a payload and adds it to the chain, by the Engine API's newPayload method of its
// fork. The block does not become the head. The error wraps ErrInvalid if the payload breaks a
// rule; other errors mean that this could not be decided, for example because the parent is
// unknown.
func (n *Node) Import(
	ctx context.Context, fork eth.Fork, p *payload.Payload, commitments []deneb.KZGCommitment,
	parentBeaconRoot phase0.Root,
	requests *electra.ExecutionRequests,
) error {
	data := payload.ToEngine(fork, p)
	hashes, root := versionedHashes(commitments), common.Hash(parentBeaconRoot)

	var status engine.PayloadStatusV1
	var err error
	switch version := fork.NewPayload(); version {
	case 1:
		status, err = n.engine.NewPayloadV1(ctx, data)
	case 2:
		status, err = n.engine.NewPayloadV2(ctx, data)
	case 3:
		status, err = n.engine.NewPayloadV3(ctx, data, hashes, &root)
	case 4:
		items, encodeErr := payload.EncodeRequests(requests)
		if encodeErr != nil {
			return encodeErr
		}
		status, err = n.engine.NewPayloadV4(ctx, data, hashes, &root, hexItems(items))
	default:
		err = fmt.Errorf("no engine_newPayloadV%d for %s: %w", version, fork, eth.ErrFork)
	}
	return imported(status, err)
}

// ImportGloas is Import for payloads of gloas, which have an access list and requests of builders.
func (n *Node) ImportGloas(ctx context.Context, p *gloas.ExecutionPayload, commitments []deneb.KZGCommitment,
	parentBeaconRoot phase0.Root, requests *gloas.ExecutionRequests) error {
	items, err := payload.EncodeGloasRequests(requests)
	if err != nil {
		return err
	}
	status, err := n.engine.NewPayloadV5(ctx, payload.GloasToEngine(p), versionedHashes(commitments),
		(*common.Hash)(&parentBeaconRoot), hexItems(items))
	return imported(status, err)
}

// imported turns the Engine API's answer to newPayload into an error.
func imported(status engine.PayloadStatusV1, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("import payload: %w", err)
	case status.Status == engine.VALID:
		return nil
	case status.Status == engine.INVALID && status.ValidationError != nil:
		return fmt.Errorf("import payload: %w: %s", ErrInvalid, *status.ValidationError)
	case status.Status == engine.INVALID:
		return fmt.Errorf("import payload: %w", ErrInvalid)
	default:
		return fmt.Errorf("import payload: engine answers %s", status.Status)
	}
}

func versionedHashes(commitments []deneb.KZGCommitment) []common.Hash {
	hashes := make([]common.Hash, len(commitments))
	for i, commitment := range commitments {
		hashes[i] = payload.VersionedHash(commitment)
	}
	return hashes
}

func hexItems(items [][]byte) []hexutil.Bytes {
	list := make([]hexutil.Bytes, len(items))
	for i := range items {
		list[i] = items[i]
	}
	return list
}

// SetHead makes a block the head by the Engine API's forkchoiceUpdated, and waits until the
// transaction pool has followed. Version 1 suffices, because the versions differ in the payload
// attributes only, and none are sent: blocks are made by Build. The safe and the final block are
// always genesis. Nothing here depends on them, but wallets ask for them.
func (n *Node) SetHead(ctx context.Context, hash phase0.Hash32) error {
	genesis := n.genesis.Hash()
	state := engine.ForkchoiceStateV1{HeadBlockHash: common.Hash(hash), SafeBlockHash: genesis,
		FinalizedBlockHash: genesis}
	answer, err := n.engine.ForkchoiceUpdatedV1(ctx, state, nil)
	switch {
	case err != nil:
		return fmt.Errorf("set head %#x: %w", hash[:], err)
	case answer.PayloadStatus.Status != engine.VALID:
		return fmt.Errorf("set head %#x: engine answers %s", hash[:], answer.PayloadStatus.Status)
	}
	if err := n.backend.TxPool().Sync(); err != nil {
		return fmt.Errorf("set head %#x: bring the pool up to date: %w", hash[:], err)
	}
	return nil
}

func headOf(backend *goeth.Ethereum) phase0.Hash32 {
	return phase0.Hash32(backend.BlockChain().CurrentBlock().Hash())
}
