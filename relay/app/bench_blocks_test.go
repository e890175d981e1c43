package app

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/deneb"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// benchBlocks are blocks of 1.5 MB in SSZ with nine blobs, which differ in how well they compress.
var benchBlocks = map[string]func(testing.TB, *eth.Spec) *relay.Submission{
	// Nothing can be compressed.
	"noise": func(b testing.TB, spec *eth.Spec) *relay.Submission { return benchBlock(b, spec, 0, 200, 1400, 9) },
	// Seven of nine blobs have 254 bits in each field element, and two 31 bytes.
	"deployed": func(b testing.TB, spec *eth.Spec) *relay.Submission { return deployedBlock(b, spec, 7) },
	// All have 31 bytes in each field element, which compressors by Huffman codes find worth their
	// while for a saving of 0.6 %.
	"31-bytes": func(b testing.TB, spec *eth.Spec) *relay.Submission { return deployedBlock(b, spec, 0) },
}

// emptyBlobBytes are the zeros at the end of the blobs of mainnet's slot 12145379 (xatu's
// canonical_beacon_blob_sidecar), and of a full one.
var emptyBlobBytes = []int{18964, 0, 0, 837, 0, 0, 30814, 46734, 0}

// deployedBlock has the transactions of mainnet's slot 8631513, 322 in 413 KB, and blobs that are
// filled like those of slot 12145379. What rollups put into blobs is compressed already, so it is
// noise, with zeros where a field element has no room: two bits, or a byte, of each 32.
func deployedBlock(b testing.TB, spec *eth.Spec, withTwoBits int) *relay.Submission {
	b.Helper()
	s := benchBlock(b, spec, 0, 0, 0, len(emptyBlobBytes))
	s.Payload.Transactions = mainnetTransactions(b)
	for i := range s.Blobs.Blobs {
		room := byte(0x3f)
		if i >= withTwoBits {
			room = 0
		}
		fill(&s.Blobs.Blobs[i], room, emptyBlobBytes[i])
	}
	return s
}

func fill(blob *deneb.Blob, room byte, empty int) {
	for at := 0; at < len(blob); at += 32 {
		blob[at] &= room
	}
	clear(blob[len(blob)-empty:])
}

// mainnetTransactions are of a block that go-ethereum's module has for its tests.
func mainnetTransactions(b testing.TB) []bellatrix.Transaction {
	b.Helper()
	dir, err := exec.CommandContext(b.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/ethereum/go-ethereum").Output()
	if err != nil {
		b.Fatal("find go-ethereum's module; is this the project's folder?", err)
	}
	raw, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "beacon", "types", "testdata",
		"block_deneb.json"))
	if err != nil {
		b.Fatal(err)
	}
	var block struct {
		Body struct {
			ExecutionPayload struct {
				Transactions []string `json:"transactions"`
			} `json:"execution_payload"`
		} `json:"body"`
	}
	if err := json.Unmarshal(raw, &block); err != nil {
		b.Fatal(err)
	}
	transactions := make([]bellatrix.Transaction, len(block.Body.ExecutionPayload.Transactions))
	for i, text := range block.Body.ExecutionPayload.Transactions {
		if transactions[i], err = hex.DecodeString(strings.TrimPrefix(text, "0x")); err != nil {
			b.Fatal(err)
		}
	}
	return transactions
}
