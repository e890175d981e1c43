package world

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
)

// slotCounts are the slots that somebody has marked, with how often something has happened in each.
type slotCounts map[phase0.Slot]int

// mark marks a slot and returns how often it has happened there.
func (c slotCounts) mark(slot phase0.Slot) int {
	if !c.has(slot) {
		c[slot] = 0
	}
	return c[slot]
}

// has says whether a slot is marked.
func (c slotCounts) has(slot phase0.Slot) bool {
	_, marked := c[slot]
	return marked
}

// Refused says how often the beacon node has refused to publish a block of a slot.
type Refused struct {
	Slot  phase0.Slot `json:"slot"`
	Times int         `json:"times"`
}

// refuse has the beacon node refuse blocks of a slot from now on, as it refuses blocks that break a
// rule, and returns how often it has.
func (w *World) refuse(slot phase0.Slot) Refused {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Refused{Slot: slot, Times: w.refused.mark(slot)}
}

// refuses says whether to refuse a block of the slot, and counts the refusal.
func (w *World) refuses(slot phase0.Slot) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.refused.has(slot) {
		return false
	}
	w.refused[slot]++
	return true
}

// Overtaken says how often another publisher was faster with a block of a slot.
type Overtaken struct {
	Slot  phase0.Slot `json:"slot"`
	Times int         `json:"times"`
}

// overtake has the beacon node get each block of a slot first from another publisher, such as a
// second relay with the same block, and returns how often it has. The node refuses the second copy
// with Prysm's message for an equivocation.
func (w *World) overtake(slot phase0.Slot) Overtaken {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Overtaken{Slot: slot, Times: w.others.mark(slot)}
}

// overtakes says whether another publisher is faster with blocks of the slot.
func (w *World) overtakes(slot phase0.Slot) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.others.has(slot)
}

// first publishes a block to the node in place of another publisher, and counts it. The node's
// answer is discarded.
func (w *World) first(node http.Handler, r *http.Request, slot phase0.Slot, body []byte) {
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	node.ServeHTTP(nobody{}, r)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.others[slot]++
}

// nobody discards an answer.
type nobody struct{}

func (nobody) Header() http.Header            { return http.Header{} }
func (nobody) Write(data []byte) (int, error) { return len(data), nil }
func (nobody) WriteHeader(int)                {}

// meddles says whether specs have asked for a refusal or an overtaking. If not, bodies of blocks
// need not be read.
func (w *World) meddles() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.refused)+len(w.others) > 0
}

// named returns the fork that a request names, and the world's first one if it names none.
func (w *World) named(r *http.Request) eth.Fork {
	fork, err := eth.ParseFork(r.Header.Get("Eth-Consensus-Version"))
	if err != nil {
		return w.cfg.Fork
	}
	return fork
}

// maxBlockBytes is the largest size of a block with all its blobs.
const maxBlockBytes = 64 << 20

// guarded returns the beacon node's handler with the refusals and overtakings that specs have asked
// for. The node answers all other requests itself.
func (w *World) guarded(node http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == envelopesPath {
			w.takeEnvelope(node, rw, r)
			return
		}
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/beacon/blocks") || !w.meddles() {
			node.ServeHTTP(rw, r)
			return
		}
		body, err := serve.ReadBody(rw, r, maxBlockBytes, "gzip")
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		slot, found := slotOf(w.named(r), r.Header.Get("Content-Type"), body)
		if found && w.refuses(slot) {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(rw, `{"code":400,"message":"a spec of the conformance suite has this slot's block refused"}`)
			return
		}
		r.ContentLength = int64(len(body))
		r.Header.Del("Content-Encoding")
		if found && w.overtakes(slot) {
			w.first(node, r, slot, body)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		node.ServeHTTP(rw, r)
	})
}

// slotOf returns the slot of a signed block, which has its blobs from deneb on.
func slotOf(fork eth.Fork, media string, body []byte) (phase0.Slot, bool) {
	if strings.HasPrefix(media, "application/octet-stream") {
		return slotOfSSZ(fork, body)
	}
	type message struct {
		Message struct {
			Slot phase0.Slot `json:"slot"`
		} `json:"message"`
	}
	var block struct {
		message
		Signed *message `json:"signed_block"`
	}
	if json.Unmarshal(body, &block) != nil {
		return 0, false
	}
	if block.Signed != nil {
		return block.Signed.Message.Slot, true
	}
	return block.Message.Slot, true
}

// slotOfSSZ reads the slot at its place in SSZ. It is the first field of the message, after an
// offset and the signature. From deneb on, three offsets come first: those of the signed block and
// of the two lists after it.
func slotOfSSZ(fork eth.Fork, body []byte) (phase0.Slot, bool) {
	const offset, signature = 4, 96
	at := offset + signature
	if fork.HasBlobs() && fork.HasBlindedBlocks() { // whose blobs come with the envelope
		at += 3 * offset
	}
	if len(body) < at+8 {
		return 0, false
	}
	var slot uint64
	for i := range 8 {
		slot |= uint64(body[at+i]) << (8 * i)
	}
	return phase0.Slot(slot), true
}
