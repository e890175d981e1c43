package beacon

import (
	"net/url"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/upstream"
)

// lag is how many slots a node may be behind the others. It is not 0, because nodes do not announce
// at the same moment, and some slots have no head.
const lag = 2

// heads are the newest heads of the nodes whose events arrive. A node that cannot be reached, or
// has announced nothing for long, has none, and its answers to requests may be just as old. The
// zero value has no heads.
type heads struct {
	mu     sync.Mutex // guards newest
	newest map[string]phase0.Slot
}

func (h *heads) noteHead(node string, slot phase0.Slot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.newest == nil {
		h.newest = map[string]phase0.Slot{}
	}
	h.newest[node] = slot // the last one, not the highest: a chain may go back
}

func (h *heads) forget(node string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.newest, node)
}

// following returns the nodes that are not behind the others.
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

// Following returns how many nodes announce the chain's head and are not behind the others. It is 0
// until the first head.
func (n *Nodes) Following() int { return len(n.heads.following()) }

// Follows says of each node, by host and port, whether it is one of those that Following counts.
func (n *Nodes) Follows() map[string]bool {
	following := n.heads.following()
	return upstream.ByName(n.endpoints, func(node int) bool { return following[n.urls[node]] })
}

// Answers says of each node, by host and port, whether it answered its last request, or has had
// none.
func (n *Nodes) Answers() map[string]bool {
	healthy := n.pool.Healthy()
	return upstream.ByName(n.endpoints, func(node int) bool { return healthy[node] })
}

// behind says of each node, by its place in urls, whether it does not follow the chain's head.
func (n *Nodes) behind() map[int]bool {
	following, behind := n.heads.following(), map[int]bool{}
	for i, url := range n.urls {
		behind[i] = !following[url]
	}
	return behind
}

// redactPassword returns a node's URL for logs, without a password in it.
func redactPassword(base string) string {
	parsed, err := url.Parse(base)
	if err != nil {
		return "a beacon node"
	}
	return parsed.Redacted()
}
