package stream

import (
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// ParseSwaps reads further kinds of pools, separated by commas: NAME=TOPIC, or NAME=TOPIC+pool if
// the second topic names the pool. TOPIC is the first topic of the log of a swap, 32 bytes in hex.
// An error says what the operator must correct.
func ParseSwaps(text string) (SwapTable, error) {
	table := SwapTable{}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		name, rest, _ := strings.Cut(item, "=")
		hex, pool := strings.CutSuffix(rest, "+pool")
		topic, err := hexutil.Decode(hex)
		if name == "" || err != nil || len(topic) != common.HashLength {
			return nil, fmt.Errorf("%q is no kind of pool: give NAME=TOPIC or NAME=TOPIC+pool, the topic being 32 bytes in hex",
				item)
		}
		table[common.BytesToHash(topic)] = Swap{Name: name, PoolTopic: pool}
	}
	return table, nil
}
