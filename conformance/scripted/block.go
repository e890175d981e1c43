package scripted

import (
	"crypto/sha256"
	"fmt"
	"time"

	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Auction is the sale of one block.
type Auction struct {
	Slot     phase0.Slot
	Parent   phase0.Hash32
	Proposer *probe.BLSKey
	// Timestamp is the slot's start.
	Timestamp time.Time
	Fork      eth.Fork
}

// gasLimit is the gas limit of all blocks.
const gasLimit = 60_000_000

// Payload makes a payload with its own block hash. Payloads of different names differ.
func (a Auction) Payload(name string) *deneb.ExecutionPayload {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s on %x", name, a.Parent))
	raw, err := types.NewTx(&types.LegacyTx{GasPrice: common.Big1, Gas: 21_000, Data: sum[:]}).MarshalBinary()
	if err != nil {
		panic(fmt.Sprintf("encode a transaction of the suite: %v", err))
	}
	p := &deneb.ExecutionPayload{
		ParentHash: a.Parent, FeeRecipient: bellatrix.ExecutionAddress(sum[:20]), StateRoot: sum, BlockNumber: 1,
		GasLimit: gasLimit, GasUsed: 21_000, Timestamp: uint64(a.Timestamp.Unix()), ExtraData: []byte("scripted"),
		BaseFeePerGas: uint256.NewInt(1e9), Transactions: []bellatrix.Transaction{raw},
		Withdrawals: []*capella.Withdrawal{},
	}
	return a.hashed(p)
}

// hashed fills in the hash of the payload's block.
func (a Auction) hashed(p *deneb.ExecutionPayload) *deneb.ExecutionPayload {
	var root *common.Hash
	var versioned []common.Hash
	var requests [][]byte
	if a.Fork.HasBlobs() {
		parent := common.Hash(a.parentRoot())
		root, versioned = &parent, []common.Hash{}
	}
	if a.Fork.HasRequests() {
		requests = [][]byte{}
	}
	block, err := engine.ExecutableDataToBlockNoHash(payload.ToEngine(a.Fork, p), versioned, root, requests)
	if err != nil {
		panic(fmt.Sprintf("hash a block of the suite: %v", err))
	}
	p.BlockHash = phase0.Hash32(block.Hash())
	return p
}

// parentRoot returns the root of the parent's beacon block.
func (a Auction) parentRoot() phase0.Root { return sha256.Sum256(a.Parent[:]) }

// Bid makes an unsigned bid for a payload. Its key is that of the relay.
func (a Auction) Bid(p *deneb.ExecutionPayload, key phase0.BLSPubKey,
	valueWei *uint256.Int) *builderelectra.SignedBuilderBid {
	header, err := payload.HeaderOf(a.Fork, p)
	if err != nil {
		panic(fmt.Sprintf("hash a payload of the suite: %v", err))
	}
	return &builderelectra.SignedBuilderBid{Message: &builderelectra.BuilderBid{
		Header: header, BlobKZGCommitments: []deneb.KZGCommitment{}, ExecutionRequests: payload.EmptyRequests(),
		Value: valueWei.Clone(), Pubkey: key,
	}}
}

// Sign signs a bid under a domain, usually Network.BuilderDomain.
func (a Auction) Sign(b *builderelectra.SignedBuilderBid, key *probe.BLSKey,
	domain phase0.Domain) *builderelectra.SignedBuilderBid {
	root, err := probe.BidRoot(a.Fork, b.Message)
	if err != nil {
		panic(fmt.Sprintf("hash a bid of the suite: %v", err))
	}
	b.Signature = key.Sign(probe.SigningRoot(root, domain))
	return b
}

// Blind makes the signed blinded block of a bid. Neither relays nor sidecars can check the
// proposer's signature without a state; it is over the block's root alone.
func (a Auction) Blind(b *builderelectra.SignedBuilderBid) *apielectra.SignedBlindedBeaconBlock {
	m := &apielectra.BlindedBeaconBlock{
		Slot: a.Slot, ProposerIndex: 1, ParentRoot: a.parentRoot(), StateRoot: phase0.Root{1},
		Body: &apielectra.BlindedBeaconBlockBody{
			ETH1Data: &phase0.ETH1Data{BlockHash: make([]byte, 32)}, ProposerSlashings: []*phase0.ProposerSlashing{},
			AttesterSlashings: []*electra.AttesterSlashing{}, Attestations: []*electra.Attestation{},
			Deposits: []*phase0.Deposit{}, VoluntaryExits: []*phase0.SignedVoluntaryExit{},
			SyncAggregate:          &altair.SyncAggregate{SyncCommitteeBits: make([]byte, 64)},
			ExecutionPayloadHeader: b.Message.Header, BLSToExecutionChanges: []*capella.SignedBLSToExecutionChange{},
			BlobKZGCommitments: b.Message.BlobKZGCommitments, ExecutionRequests: b.Message.ExecutionRequests,
		},
	}
	root, err := probe.BlindedRoot(a.Fork, m)
	if err != nil {
		panic(fmt.Sprintf("hash a block of the suite: %v", err))
	}
	return &apielectra.SignedBlindedBeaconBlock{Message: m, Signature: a.Proposer.Sign(root)}
}

// Revealed makes the document by which a relay reveals a payload.
func (a Auction) Revealed(p *deneb.ExecutionPayload) probe.Document {
	return probe.Payload(a.Fork, &builderfulu.ExecutionPayloadAndBlobsBundle{ExecutionPayload: p,
		BlobsBundle: &builderfulu.BlobsBundle{
			Commitments: []deneb.KZGCommitment{}, Proofs: []deneb.KZGProof{}, Blobs: []deneb.Blob{},
		}})
}
