package shape

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"github.com/pk910/hashtree-bindings"
)

const chunkBytes = 32

// chunk is a leaf or a node of a tree.
type chunk = [chunkBytes]byte

// maxDepth is the depth of the largest tree here: a list of 2^30 items.
const maxDepth = 30

// zeroRoots are the roots of trees of zeros, by depth.
var zeroRoots = func() (roots [maxDepth + 1]chunk) {
	for depth := range maxDepth {
		roots[depth+1] = pair(roots[depth], roots[depth])
	}
	return roots
}()

func pair(left, right chunk) chunk {
	var both [2 * chunkBytes]byte
	copy(both[:chunkBytes], left[:])
	copy(both[chunkBytes:], right[:])
	return sha256.Sum256(both[:])
}

// depthOf is the depth of the smallest tree with so many leaves.
func depthOf(leaves int) int {
	if leaves < 2 {
		return 0
	}
	return bits.Len(uint(leaves - 1))
}

// manyPairs is from how many pairs on they are hashed together, which is faster then.
const manyPairs = 4

// merkle is the root of a tree of this depth, whose other leaves are zero.
func merkle(leaves []chunk, depth int) chunk {
	if len(leaves) == 0 {
		return zeroRoots[depth]
	}
	level := leaves
	for height := range depth {
		half := len(level) / 2
		next := make([]chunk, half, half+1)
		if half < manyPairs || hashtree.Hash(next, level[:2*half]) != nil { // whole pairs can be hashed
			for i := range next {
				next[i] = pair(level[2*i], level[2*i+1])
			}
		}
		if len(level)%2 == 1 {
			next = append(next, pair(level[len(level)-1], zeroRoots[height]))
		}
		level = next
	}
	return level[0]
}

// progressive is the root of a tree that grows with its leaves (EIP-7916): subtrees with room for
// 1, 4, 16 … of them, each beside all that follow it.
//
//	root = H(first leaf, H(next 4, H(next 16, …)))
func progressive(leaves []chunk) (root chunk) {
	var subtrees []chunk
	for depth := 0; len(leaves) > 0; depth += 2 {
		count := min(len(leaves), 1<<depth)
		subtrees = append(subtrees, merkle(leaves[:count], depth))
		leaves = leaves[count:]
	}
	for i := len(subtrees) - 1; i >= 0; i-- {
		root = pair(subtrees[i], root)
	}
	return root
}

// mixIn hashes a root with a number: the length of a list, or the fields of a container.
func mixIn(root chunk, number uint64) chunk {
	var right chunk
	binary.LittleEndian.PutUint64(right[:], number)
	return pair(root, right)
}

// pack divides bytes into chunks; the last one is filled with zeros.
func pack(raw []byte) []chunk {
	chunks := make([]chunk, (len(raw)+chunkBytes-1)/chunkBytes)
	for i := range chunks {
		copy(chunks[i][:], raw[i*chunkBytes:])
	}
	return chunks
}
