package beacon

import (
	"net/url"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// lag is by how many slots a node may be behind the others: announcements do not come at the same
// moment, and some slots have none.
const lag = 2

// heads are the newest heads of the nodes whose events come. A node that cannot be reached, or that
// announces nothing for long, has none, and what it answers to questions may be as old. The zero
// value knows nothing.
type heads struct {
	mu     sync.Mutex // guards newest
	newest map[string]phase0.Slot
}

func (h *heads) heard(node string, slot phase0.Slot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.newest == nil {
		h.newest = map[string]phase0.Slot{}
	}
	h.newest[node] = slot // not the highest: a chain may go back
}

func (h *heads) lost(node string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.newest, node)
}

// following are the nodes that are not behind the others.
func (h *heads) following() map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	var best phase0.Slot
	for _, slot := range h.newest {
		best = max(best, slot)
	}
	nodes := map[string]bool{}
	for node, slot := range h.newest {
		if slot+lag >= best {
			nodes[node] = true
		}
	}
	return nodes
}

// Following is how many nodes announce the chain's head, and are not behind the others. It is 0
// until the first head.
func (n *Nodes) Following() int { return len(n.heads.following()) }

// behind are the nodes, by their place in urls, that do not announce the chain's head.
func (n *Nodes) behind() map[int]bool {
	following, behind := n.heads.following(), map[int]bool{}
	for i, url := range n.urls {
		behind[i] = !following[url]
	}
	return behind
}

// shown is a node's URL as it may be logged: a password in it is nobody's business.
func shown(base string) string {
	parsed, err := url.Parse(base)
	if err != nil {
		return "a beacon node"
	}
	return parsed.Redacted()
}
