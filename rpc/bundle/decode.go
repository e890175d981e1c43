package bundle

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

// incomingTx is a transaction of a request: first as text, then decoded, then with its sender if
// that is needed now.
type incomingTx struct {
	hex  HexBytes
	path func() string // its place in the request, for refusals only
	raw  []byte
	hash common.Hash
	exec.Tx
}

// Hash is the transaction's hash.
func (s *incomingTx) Hash() common.Hash { return s.hash }

// checkSize refuses more bytes of raw transactions than the limit, before any is decoded.
func checkSize(txs []*incomingTx, limits Config) error {
	total := 0
	for _, s := range txs {
		total += s.hex.Len()
	}
	if total > limits.MaxBytes {
		return rpc.BundleTooLarge.With("%d bytes of raw transactions, want at most %d", total, limits.MaxBytes)
	}
	return nil
}

// decode decodes transactions in the form that a node accepts: blob transactions with their blobs.
func decode(txs []*incomingTx) error {
	total, lists := 0, 0
	for _, s := range txs {
		raw, err := s.hex.Bytes()
		if err != nil {
			return rpc.BundleUndecodable.With("%s: %s", s.path(), err)
		}
		s.raw = raw
		total += len(raw)
		lists += countLists(raw)
	}
	if most := freeLists + total/bytesPerList; lists > most {
		return rpc.BundleTooLarge.With("%d lists, such as addresses of access lists and authorizations, in %d bytes of "+
			"raw transactions, want at most %d", lists, total, most)
	}
	for _, s := range txs {
		s.Transaction = new(types.Transaction)
		if err := s.UnmarshalBinary(s.raw); err != nil {
			return rpc.BundleUndecodable.With("%s: %s", s.path(), err)
		}
		s.hash = hashOf(s.raw, s.Transaction)
	}
	return nil
}

// The transactions of a request may have freeLists lists, and one more for each bytesPerList of
// their bytes. An authorization of 27 bytes takes 128 of memory, several times over while its list
// grows, and an address without slots half of that. A real authorization has about 95 bytes.
const (
	freeLists    = 1024
	bytesPerList = 64
	// maxListDepth is how deep lists can be in a transaction: in a blob transaction with its blobs,
	// the slots of an address in its access list.
	maxListDepth = 5
)

// countLists counts the lists in a transaction, as far as it is RLP; decoding refuses the rest.
func countLists(raw []byte) int {
	if len(raw) > 0 && raw[0] < 0x80 { // a type stands before the list
		raw = raw[1:]
	}
	return listsIn(raw, maxListDepth)
}

func listsIn(data []byte, depth int) (lists int) {
	for depth > 0 && len(data) > 0 {
		kind, content, rest, err := rlp.Split(data)
		if err != nil {
			break
		}
		if kind == rlp.List {
			lists += 1 + listsIn(content, depth-1)
		}
		data = rest
	}
	return lists
}

// hashOf is the hash of a decoded transaction. The raw bytes are its only valid encoding (a node
// accepts no other), so it need not be encoded again, unless it has blobs: these are not part of
// what is hashed.
func hashOf(raw []byte, tx *types.Transaction) common.Hash {
	if tx.BlobTxSidecar() != nil {
		return tx.Hash()
	}
	return crypto.Keccak256Hash(raw)
}

func (s *incomingTx) order() *rpc.Transaction {
	return &rpc.Transaction{Raw: s.raw, Hash: s.Hash(), From: s.From, Nonce: s.Nonce(), CanRevert: s.CanRevert,
		CanDrop: s.CanDrop}
}

// exec is the transaction in the simulator's form.
func (s *incomingTx) exec() *exec.Tx {
	tx := s.Tx
	tx.Transaction = tx.WithoutBlobTxSidecar()
	return &tx
}

// hashes are the transactions' hashes, in order.
func hashes(txs []*incomingTx) []common.Hash {
	list := make([]common.Hash, len(txs))
	for i, s := range txs {
		list[i] = s.Hash()
	}
	return list
}

// readTxs reads the field txs, but does not decode the transactions: their number and size are
// checked first.
func readTxs(path string, list RawList, limits Config) ([]*incomingTx, error) {
	if list.Count() > limits.MaxTxs {
		return nil, rpc.BundleTooManyTxs.With("%s has %d, want at most %d", path, list.Count(), limits.MaxTxs)
	}
	texts, err := ReadElements[HexBytes](path, list)
	if err != nil {
		return nil, err
	}
	txs := make([]*incomingTx, len(texts))
	for i := range texts {
		txs[i] = &incomingTx{hex: texts[i], path: func() string { return fmt.Sprintf("%s[%d]", path, i) }}
	}
	return txs, checkSize(txs, limits)
}
