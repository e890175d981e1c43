package searcher

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/devnet"
)

// Each row is what a listener remembers when it hears the hint 1, and what it does.
func TestListenerDecides(t *testing.T) {
	one, other := common.Hash{1}, common.Hash{2}
	for _, c := range []struct {
		name   string
		memory memory
		want   reaction
	}{
		{"the first of all hints", memory{}, reaction{reports: devnet.HintHeard, stall: time.Minute}},
		{"a further hint", memory{heard: map[common.Hash]bool{other: true}, listens: true},
			reaction{reports: devnet.HintHeard}},
		{"a hint that comes twice", memory{heard: map[common.Hash]bool{one: true}, listens: true},
			reaction{reports: devnet.HintRepeated}},
		{"the first one after a loss", memory{heard: map[common.Hash]bool{other: true}, back: true},
			reaction{reports: devnet.HintHeard, looksBack: true}},
	} {
		if got := c.memory.decide(one, time.Minute); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if !(memory{listens: true}).cutOff() || (memory{back: true}).cutOff() {
		t.Error("a connection counts as lost if it has brought a hint, and only then")
	}
	heard := memory{heard: map[common.Hash]bool{one: true, other: true}}
	if got := heard.missing(map[common.Hash]bool{other: true, {3}: true}); got != 1 {
		t.Errorf("%d are missing, want 1", got)
	}
}
