package beacon

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/ethereum/go-ethereum/crypto/kzg4844"
	dynssz "github.com/pk910/dynamic-ssz"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/serve"
)

// firstCommitment is the generalized index of a body's first blob commitment: field 11 of 16, then
// the list's elements, of which there are places for 4,096 (consensus-specs, deneb, "Blob
// sidecar").
const firstCommitment = (16 + 11) * 2 * 4096

// blobsOf returns the blobs of a block. They are empty if the block has none, or is older than the
// last final block.
func (b *Beacon) blobsOf(block *Block) *payload.Blobs {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if blobs := b.blobs[block.Root]; blobs != nil {
		return blobs
	}
	return &payload.Blobs{}
}

// listBlobs lists a block's blobs, all or those of ?versioned_hashes= (beacon-APIs, getBlobs).
func (b *Beacon) listBlobs(w http.ResponseWriter, r *http.Request) {
	block, media, err := b.blockAs(r)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	wanted := queryList(r, "versioned_hashes")
	blobs := b.blobsOf(block)
	list, raw := []string{}, []byte{}
	for i := range blobs.Blobs {
		hash := payload.VersionedHash(blobs.Commitments[i])
		if len(wanted) > 0 && !slices.ContainsFunc(wanted, func(id string) bool {
			return strings.EqualFold(id, hash.Hex())
		}) {
			continue
		}
		if media == mediaSSZ {
			raw = append(raw, blobs.Blobs[i][:]...)
		} else {
			list = append(list, hexOf(blobs.Blobs[i][:]))
		}
	}
	if media == mediaSSZ {
		serve.Bytes(w, http.StatusOK, mediaSSZ, raw)
		return
	}
	data(w, r, list, b.settled(block))
}

// blobSidecars lists a block's blobs with their proofs, all or those of ?indices= (beacon-APIs,
// getBlobSidecars). From fulu on a block comes with proofs of cells, so the proof of the whole blob
// is computed.
func (b *Beacon) blobSidecars(w http.ResponseWriter, r *http.Request) {
	block, media, err := b.blockAs(r)
	var list []*deneb.BlobSidecar
	if err == nil && isGloas(block.Fork) {
		err = bad("there are no blob sidecars in gloas: use /eth/v1/beacon/blobs")
	}
	if err == nil {
		list, err = sidecars(block, b.blobsOf(block), queryList(r, "indices"))
	}
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	w.Header().Set(versionHeader, block.Fork.String())
	if media == mediaJSON {
		extra := b.settled(block)
		extra["version"] = block.Fork.String()
		data(w, r, list, extra)
		return
	}
	raw := []byte{}
	for _, sidecar := range list {
		if raw, err = sidecar.MarshalSSZTo(raw); err != nil {
			serve.Refuse(w, r, fmt.Errorf("encode blob sidecar: %w", err))
			return
		}
	}
	serve.Bytes(w, http.StatusOK, mediaSSZ, raw)
}

// sidecars returns a block's blobs of some indices, each with the proof that the block contains its
// commitment.
func sidecars(block *Block, blobs *payload.Blobs, indices []string) ([]*deneb.BlobSidecar, error) {
	list := []*deneb.BlobSidecar{}
	if len(blobs.Blobs) == 0 {
		return list, nil
	}
	prove, err := inclusion(block.signed)
	if err != nil {
		return nil, err
	}
	for i := range blobs.Blobs {
		if len(indices) > 0 && !slices.Contains(indices, strconv.Itoa(i)) {
			continue
		}
		sidecar := &deneb.BlobSidecar{
			Index: deneb.BlobIndex(i), Blob: blobs.Blobs[i], KZGCommitment: blobs.Commitments[i],
			SignedBlockHeader: block.header,
		}
		if sidecar.KZGProof, err = blobProof(block.Fork, blobs, i); err != nil {
			return nil, fmt.Errorf("prove blob %d: %w", i, err)
		}
		if sidecar.KZGCommitmentInclusionProof, err = prove(i); err != nil {
			return nil, fmt.Errorf("prove commitment %d: %w", i, err)
		}
		list = append(list, sidecar)
	}
	return list, nil
}

// blobProof returns the proof of one blob as a whole.
func blobProof(fork eth.Fork, blobs *payload.Blobs, i int) (deneb.KZGProof, error) {
	if !fork.HasCellProofs() {
		return blobs.Proofs[i], nil
	}
	blob := kzg4844.Blob(blobs.Blobs[i])
	proof, err := kzg4844.ComputeBlobProof(&blob, kzg4844.Commitment(blobs.Commitments[i]))
	return deneb.KZGProof(proof), err
}

// hasher is implemented by every generated type of the library.
type hasher interface{ HashTreeRoot() ([32]byte, error) }

// inclusion hashes a block's body. The function that it returns proves that the body contains the
// commitment with an index.
func inclusion(signed codec) (func(i int) (deneb.KZGCommitmentInclusionProof, error), error) {
	var body any
	var sync, executed hasher
	switch block := signed.(type) {
	case *deneb.SignedBeaconBlock:
		body, sync, executed = block.Message.Body, block.Message.Body.SyncAggregate, block.Message.Body.ExecutionPayload
	case *electra.SignedBeaconBlock:
		body, sync, executed = block.Message.Body, block.Message.Body.SyncAggregate, block.Message.Body.ExecutionPayload
	default:
		return nil, fmt.Errorf("a %T has no blobs", signed)
	}
	tree, err := dynssz.NewDynSsz(nil).GetTree(body)
	if err != nil {
		return nil, fmt.Errorf("hash block body: %w", err)
	}
	pair, err := hashPair(sync, executed)
	if err != nil {
		return nil, fmt.Errorf("hash block body: %w", err)
	}
	return func(i int) (deneb.KZGCommitmentInclusionProof, error) {
		branch, err := tree.Prove(firstCommitment + i)
		if err != nil {
			return nil, err
		}
		var proof deneb.KZGCommitmentInclusionProof
		for _, hash := range branch.Hashes {
			proof = append(proof, deneb.KZGCommitmentInclusionProofElement(hash))
		}
		// dynamic-ssz 1.3.2 computes a wrong root for payloads when it makes a tree, but a right
		// one in HashTreeRoot. So the node above the payload is replaced.
		proof[len(proof)-3] = pair
		return proof, nil
	}, nil
}

// hashPair returns the node above two fields.
func hashPair(left, right hasher) (node [32]byte, err error) {
	a, leftErr := left.HashTreeRoot()
	b, rightErr := right.HashTreeRoot()
	return sha256.Sum256(append(a[:], b[:]...)), errors.Join(leftErr, rightErr)
}

// blockAs finds the block that a path names, and the media type that the client wants.
func (b *Beacon) blockAs(r *http.Request) (*Block, string, error) {
	media, ok := serve.Negotiate(r, mediaJSON, mediaSSZ)
	if !ok {
		return nil, "", problem{http.StatusNotAcceptable, "only JSON and SSZ are produced"}
	}
	block, err := b.find(r.PathValue("block_id"))
	return block, media, err
}

// queryList reads a list from the query. Clients separate values by commas, or repeat the name.
func queryList(r *http.Request, name string) (list []string) {
	for _, value := range r.URL.Query()[name] {
		list = append(list, strings.Split(value, ",")...)
	}
	return list
}
