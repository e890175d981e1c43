package searcher

import (
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/devnet"
)

// memory is what a listener remembers of its stream. Its methods are pure.
type memory struct {
	heard map[common.Hash]bool
	// listens says that a hint came on the present connection. back says that the connection before
	// was lost, and that the history has not been read since.
	listens, back bool
}

// reaction is what a listener does about a hint.
type reaction struct {
	// reports is the subject of what it reports.
	reports string
	// stall is for how long it stops reading; 0 means that it does not.
	stall time.Duration
	// looksBack says that it then reads the history.
	looksBack bool
}

// decide says what to do about a hint. A listener stalls after the first of all hints, and reads
// the history after the first hint of a connection that follows a lost one.
func (m memory) decide(hint common.Hash, stall time.Duration) reaction {
	r := reaction{reports: devnet.HintHeard, looksBack: m.back}
	if m.heard[hint] {
		r.reports = devnet.HintRepeated
	}
	if len(m.heard) == 0 {
		r.stall = stall
	}
	return r
}

// cutOff says whether the end of the present connection is a loss. Connections that have not
// brought a hint do not count.
func (m memory) cutOff() bool { return m.listens }

// missing returns how many of the hints that were heard are not among those that were kept.
func (m memory) missing(kept map[common.Hash]bool) (count int) {
	for hint := range m.heard {
		if !kept[hint] {
			count++
		}
	}
	return count
}
