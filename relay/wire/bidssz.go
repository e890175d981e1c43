package wire

import (
	"encoding/binary"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Sizes in SSZ, in bytes: of a header's fixed part in bellatrix, of what later forks add to it, and
// of parts of a bid.
const (
	bellatrixHeaderBytes = 536
	withdrawalsRootBytes = 32
	blobGasBytes         = 16
	kzgBytes             = 48
	maxExtraData         = 32
	pubkeyBytes          = phase0.PublicKeyLength
	uint256Bytes         = 32
)

// ssz encodes the SignedBuilderBid (builder-specs).
//
//	offset │ signature │ offsets of header, [commitments, [requests]] │ value │ pubkey │ header │ [commitments │ [requests]]
func (b *Bid) ssz(signature phase0.BLSSignature) ([]byte, error) {
	header := headerBytes(b.Fork) + len(b.Header.ExtraData)
	to := make([]byte, 0, 1024+header+len(b.Commitments)*kzgBytes)
	to = binary.LittleEndian.AppendUint32(to, offsetBytes+signatureBytes)
	to = append(to, signature[:]...)
	offsets := offsetsOf(b.Fork)
	parts := []int{header, len(b.Commitments) * kzgBytes, 0}
	at := offsets*offsetBytes + uint256Bytes + pubkeyBytes
	for _, size := range parts[:offsets] {
		to = binary.LittleEndian.AppendUint32(to, uint32(at))
		at += size
	}
	to = appendUint256(to, b.ValueWei)
	to = append(to, b.Relay[:]...)
	to = appendHeader(to, b.Fork, b.Header)
	if b.Fork.HasBlobs() {
		for i := range b.Commitments {
			to = append(to, b.Commitments[i][:]...)
		}
	}
	if b.Fork.HasRequests() {
		return requestsOf(b.Requests).MarshalSSZTo(to)
	}
	return to, nil
}

// headerBytes is the size of a header without its extra data.
func headerBytes(fork eth.Fork) int {
	size := bellatrixHeaderBytes
	if fork.HasWithdrawals() {
		size += withdrawalsRootBytes
	}
	if fork.HasBlobs() {
		size += blobGasBytes
	}
	return size
}

// appendHeader writes an ExecutionPayloadHeader in the shape of a fork; its only part of variable
// size, the extra data, is last.
func appendHeader(to []byte, fork eth.Fork, h *payload.Header) []byte {
	for _, part := range [][]byte{
		h.ParentHash[:], h.FeeRecipient[:], h.StateRoot[:], h.ReceiptsRoot[:], h.LogsBloom[:], h.PrevRandao[:],
	} {
		to = append(to, part...)
	}
	for _, number := range []uint64{h.BlockNumber, h.GasLimit, h.GasUsed, h.Timestamp} {
		to = binary.LittleEndian.AppendUint64(to, number)
	}
	to = binary.LittleEndian.AppendUint32(to, uint32(headerBytes(fork)))
	to = appendUint256(to, h.BaseFeePerGas)
	to = append(append(to, h.BlockHash[:]...), h.TransactionsRoot[:]...)
	if fork.HasWithdrawals() {
		to = append(to, h.WithdrawalsRoot[:]...)
	}
	if fork.HasBlobs() {
		to = binary.LittleEndian.AppendUint64(to, h.BlobGasUsed)
		to = binary.LittleEndian.AppendUint64(to, h.ExcessBlobGas)
	}
	return append(to, h.ExtraData...)
}

// appendUint256 writes a number in SSZ's order, the lowest byte first; nil means zero.
func appendUint256(to []byte, number *uint256.Int) []byte {
	if number == nil {
		return append(to, make([]byte, uint256Bytes)...)
	}
	raw := number.Bytes32()
	slices.Reverse(raw[:])
	return append(to, raw[:]...)
}
