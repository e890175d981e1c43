package payload

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/pk910/hashtree-bindings"
	"golang.org/x/sync/errgroup"
)

// The depths of the two lists in a payload's transactions (consensus-specs): 2^30 bytes of a
// transaction are 2^25 chunks.
const (
	transactionDepth  = 25
	transactionsDepth = 20
	chunkBytes        = 32
)

// chunk is a leaf or a node of a tree.
type chunk = [chunkBytes]byte

// zeroRoots are the roots of trees of zeros, by depth.
var zeroRoots = func() (roots [transactionDepth + 1]chunk) {
	for depth := range transactionDepth {
		if err := hashtree.Hash(roots[depth+1:depth+2], []chunk{roots[depth], roots[depth]}); err != nil {
			panic(err) // one pair can be hashed
		}
	}
	return roots
}()

// TransactionsRoot returns the root of a payload's transactions. The tree's leaves are the roots of
// the single transactions, which are nearly all of the work. So several processors compute them at
// once.
func TransactionsRoot(transactions []bellatrix.Transaction) (phase0.Root, error) {
	if len(transactions) > 1<<transactionsDepth {
		return phase0.Root{}, fmt.Errorf("%d transactions are more than SSZ has room for", len(transactions))
	}
	roots := make([]chunk, len(transactions))
	var group errgroup.Group
	parts := shares(transactions, runtime.GOMAXPROCS(0))
	for _, share := range parts[:max(0, len(parts)-1)] {
		group.Go(func() error { return TransactionRoots(roots[share.from:share.to], transactions[share.from:share.to]) })
	}
	var err error
	if len(parts) > 0 { // the last part on this goroutine, since waking another costs time
		last := parts[len(parts)-1]
		err = TransactionRoots(roots[last.from:last.to], transactions[last.from:last.to])
	}
	if err = errors.Join(err, group.Wait()); err != nil {
		return phase0.Root{}, err
	}
	return RootOfTransactions(roots)
}

// RootOfTransactions is TransactionsRoot for transactions whose own roots are known. It overwrites
// roots.
func RootOfTransactions(roots [][chunkBytes]byte) (phase0.Root, error) {
	count := len(roots)
	if count == 0 {
		roots = make([]chunk, 1)
	}
	t := tree{nodes: roots, counts: []int{len(roots)}}
	if err := t.climb(transactionsDepth); err != nil {
		return phase0.Root{}, err
	}
	if err := t.mixIn(func(int) int { return count }); err != nil {
		return phase0.Root{}, err
	}
	return t.nodes[0], nil
}

// share is a run of a list.
type share struct{ from, to int }

// shares divides transactions into runs of about the same length in bytes.
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

// TransactionRoots writes the root of each transaction to roots, which must have the same length. A
// root is that of the bytes, hashed with their number.
func TransactionRoots(roots [][chunkBytes]byte, transactions []bellatrix.Transaction) error {
	t := trees.Get().(*tree)
	defer trees.Put(t)
	if err := t.plant(transactions); err != nil {
		return err
	}
	if err := t.climb(transactionDepth); err != nil {
		return err
	}
	if err := t.mixIn(func(i int) int { return len(transactions[i]) }); err != nil {
		return err
	}
	copy(roots, t.nodes)
	return nil
}

// tree is one level of several trees: their nodes, one tree after the other, and the number of
// nodes of each.
type tree struct {
	nodes  []chunk
	counts []int
	padded []chunk
}

// trees are used again, because their memory is twice that of the transactions, and allocating it
// takes a fifth of the time.
var trees = sync.Pool{New: func() any { return new(tree) }}

// plant sets the level to the leaves of some lists of bytes. An empty list is one leaf of zeros.
func (t *tree) plant(lists []bellatrix.Transaction) error {
	t.nodes, t.counts = t.nodes[:0], t.counts[:0]
	for _, list := range lists {
		if len(list) > chunkBytes<<transactionDepth {
			return fmt.Errorf("a transaction of %d bytes is more than SSZ has room for", len(list))
		}
		before := len(t.nodes)
		for ; len(list) >= chunkBytes; list = list[chunkBytes:] {
			t.nodes = append(t.nodes, chunk(list))
		}
		if len(list) > 0 || len(t.nodes) == before {
			var last chunk
			copy(last[:], list)
			t.nodes = append(t.nodes, last)
		}
		t.counts = append(t.counts, len(t.nodes)-before)
	}
	return nil
}

// climb hashes all trees up by some levels. It hashes them together, because a processor hashes
// several nodes in the time of one.
func (t *tree) climb(depth int) error {
	for height := range depth {
		t.padded = slices.Grow(t.padded[:0], len(t.nodes)+len(t.counts))
		padded, nodes := t.padded[:len(t.nodes)+len(t.counts)], t.nodes
		size := 0
		for i, count := range t.counts {
			if count == 1 { // the case of most levels
				padded[size], padded[size+1] = nodes[0], zeroRoots[height]
				nodes = nodes[1:]
				size += 2
				continue
			}
			size += copy(padded[size:], nodes[:count])
			nodes = nodes[count:]
			if count%2 == 1 {
				padded[size] = zeroRoots[height]
				size++
			}
			t.counts[i] = (count + 1) / 2
		}
		t.nodes = t.nodes[:size/2] // not more than before
		if err := hashtree.Hash(t.nodes, padded[:size]); err != nil {
			return fmt.Errorf("hash: %w", err)
		}
	}
	return nil
}

// mixIn hashes the roots of lists with the lengths of the lists.
func (t *tree) mixIn(length func(i int) int) error {
	t.padded = t.padded[:0]
	for i, root := range t.nodes {
		var size chunk
		binary.LittleEndian.PutUint64(size[:], uint64(length(i)))
		t.padded = append(t.padded, root, size)
	}
	if err := hashtree.Hash(t.nodes, t.padded); err != nil {
		return fmt.Errorf("hash: %w", err)
	}
	return nil
}
