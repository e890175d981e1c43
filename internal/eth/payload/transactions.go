package payload

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/pk910/hashtree-bindings"
	"golang.org/x/sync/errgroup"
)

// The depths of the two lists in a payload's transactions (consensus-specs): 2^30 bytes of a transaction are 2^25 chunks.
const (
	transactionDepth  = 25
	transactionsDepth = 20
	chunkBytes        = 32
)

// zeroRoots are the roots of trees of zeros, by their depth.
var zeroRoots = func() (roots [transactionDepth + 1][chunkBytes]byte) {
	for depth := range transactionDepth {
		pair := append(roots[depth][:], roots[depth][:]...)
		if err := hashtree.HashByteSlice(roots[depth+1][:], pair); err != nil {
			panic(err) // one pair can be hashed
		}
	}
	return roots
}()

// TransactionsRoot is the root of a payload's transactions. It is a tree of trees: the roots of the single transactions, which are nearly all of
// the work, are hashed by several processors at once.
func TransactionsRoot(transactions []bellatrix.Transaction) (phase0.Root, error) {
	if len(transactions) > 1<<transactionsDepth {
		return phase0.Root{}, fmt.Errorf("%d transactions are more than SSZ has room for", len(transactions))
	}
	roots := make([]byte, max(1, len(transactions))*chunkBytes)
	var group errgroup.Group
	for _, share := range shares(transactions, runtime.GOMAXPROCS(0)) {
		group.Go(func() error {
			return transactionRoots(roots[share.from*chunkBytes:], transactions[share.from:share.to])
		})
	}
	if err := group.Wait(); err != nil {
		return phase0.Root{}, err
	}
	t := tree{nodes: roots, counts: []int{max(1, len(transactions))}}
	if err := t.climb(transactionsDepth); err != nil {
		return phase0.Root{}, err
	}
	if err := mixIn(t.nodes, func(int) int { return len(transactions) }); err != nil {
		return phase0.Root{}, err
	}
	return phase0.Root(t.nodes), nil
}

// share is a run of a list.
type share struct{ from, to int }

// shares cuts transactions into runs of about the same length in bytes.
func shares(transactions []bellatrix.Transaction, count int) (list []share) {
	total, done := 0, 0
	for _, tx := range transactions {
		total += len(tx)
	}
	next := share{}
	for i, tx := range transactions {
		done += len(tx)
		if next.to = i + 1; done*count >= total*(len(list)+1) {
			list = append(list, next)
			next.from = i + 1
		}
	}
	if next.from < len(transactions) {
		list = append(list, share{next.from, len(transactions)})
	}
	return list
}

// transactionRoots writes the roots of transactions, each the root of its bytes mixed with their number.
func transactionRoots(roots []byte, transactions []bellatrix.Transaction) error {
	t := tree{counts: make([]int, len(transactions))}
	size := 0
	for i, tx := range transactions {
		if len(tx) > chunkBytes<<transactionDepth {
			return fmt.Errorf("a transaction of %d bytes is more than SSZ has room for", len(tx))
		}
		t.counts[i] = max(1, (len(tx)+chunkBytes-1)/chunkBytes)
		size += t.counts[i] * chunkBytes
	}
	t.nodes = make([]byte, size)
	at := 0
	for i, tx := range transactions {
		copy(t.nodes[at:], tx)
		at += t.counts[i] * chunkBytes
	}
	if err := t.climb(transactionDepth); err != nil {
		return err
	}
	if err := mixIn(t.nodes, func(i int) int { return len(transactions[i]) }); err != nil {
		return err
	}
	copy(roots, t.nodes)
	return nil
}

// tree is a level of some trees, one behind the other, each with its count of nodes.
type tree struct {
	nodes  []byte
	counts []int
	padded []byte
}

// climb hashes all trees up by some levels, together: a processor hashes several nodes in the time of one.
func (t *tree) climb(depth int) error {
	for height := range depth {
		t.padded = slices.Grow(t.padded[:0], len(t.nodes)+len(t.counts)*chunkBytes)
		nodes := t.nodes
		for i, count := range t.counts {
			t.padded = append(t.padded, nodes[:count*chunkBytes]...)
			if nodes = nodes[count*chunkBytes:]; count%2 == 1 {
				t.padded = append(t.padded, zeroRoots[height][:]...)
			}
			t.counts[i] = (count + 1) / 2
		}
		t.nodes = t.nodes[:len(t.padded)/2] // never more than there were
		if err := hashtree.HashByteSlice(t.nodes, t.padded); err != nil {
			return fmt.Errorf("hash: %w", err)
		}
	}
	return nil
}

// mixIn hashes the roots of lists with the lengths of the lists, in place.
func mixIn(roots []byte, length func(i int) int) error {
	pairs := make([]byte, 2*len(roots))
	for i := range len(roots) / chunkBytes {
		pair := pairs[2*i*chunkBytes:]
		copy(pair, roots[i*chunkBytes:(i+1)*chunkBytes])
		binary.LittleEndian.PutUint64(pair[chunkBytes:], uint64(length(i)))
	}
	if err := hashtree.HashByteSlice(roots, pairs); err != nil {
		return fmt.Errorf("hash: %w", err)
	}
	return nil
}
