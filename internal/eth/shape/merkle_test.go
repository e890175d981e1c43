package shape

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The official roots of progressive trees: see the file's comments.
func TestOfficialTrees(t *testing.T) {
	file, err := os.Open("../gloas/testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	checked := 0
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		var got chunk
		switch words[0] {
		case "progressive-chunks":
			count, _ := strconv.Atoi(words[1])
			leaves := make([]chunk, count)
			for i := range leaves {
				binary.LittleEndian.PutUint64(leaves[i][:], uint64(i))
			}
			got = progressive(leaves)
		case "active-fields":
			active := uint64(0)
			for i, bit := range words[2] {
				active |= uint64(bit-'0') << i
			}
			got = mixIn(chunk{1}, active)
		default:
			continue
		}
		if want := words[len(words)-1]; hex.EncodeToString(got[:]) != want {
			t.Errorf("%v: %x", words[:len(words)-1], got)
		}
		checked++
	}
	if lines.Err() != nil || checked != 20 {
		t.Errorf("%d trees, %v: want 20", checked, lines.Err())
	}
}

// A tree has the same root, whether its pairs are hashed together or one by one.
func TestMerkleOfManyLeaves(t *testing.T) {
	var slow func(leaves []chunk, depth int) chunk
	slow = func(leaves []chunk, depth int) chunk {
		if depth == 0 {
			if len(leaves) == 0 {
				return chunk{}
			}
			return leaves[0]
		}
		half := min(len(leaves), 1<<(depth-1))
		return pair(slow(leaves[:half], depth-1), slow(leaves[half:], depth-1))
	}
	leaves := make([]chunk, 70)
	for i := range leaves {
		leaves[i] = chunk{byte(i), 0xff}
	}
	for count := range len(leaves) {
		for _, depth := range []int{depthOf(count), 9} {
			if got, want := merkle(leaves[:count], depth), slow(leaves[:count], depth); got != want {
				t.Errorf("%d leaves in a tree of depth %d: %x: want %x", count, depth, got, want)
			}
		}
	}
}
