package beacon

import (
	"encoding/json"
	"net/http"

	"github.com/gavel-relay/gavel/internal/serve"
)

// maxPool bounds a pool: beyond it, new operations replace the oldest.
const maxPool = 1024

// pooled maps the pools that keep and show operations to the events about them. No block contains
// these operations: the emulated state has no exits, slashings or changes.
var pooled = map[string]string{
	"voluntary_exits": "voluntary_exit", "bls_to_execution_changes": "bls_to_execution_change",
	"proposer_slashings": "proposer_slashing", "attester_slashings": "attester_slashing",
}

// showPool lists what was sent to a pool (beacon-APIs, getPoolVoluntaryExits and similar). Pools of
// attestations and sync committees are always empty, because committees vote by themselves here.
func (b *Beacon) showPool(w http.ResponseWriter, r *http.Request) {
	b.mu.RLock()
	list := append([]json.RawMessage{}, b.pools[r.PathValue("pool")]...)
	b.mu.RUnlock()
	fork := b.Head().Fork.String()
	w.Header().Set(versionHeader, fork)
	data(w, r, list, map[string]any{"version": fork})
}

// addToPool takes an operation, or a list of them.
func (b *Beacon) addToPool(w http.ResponseWriter, r *http.Request) {
	var body json.RawMessage
	if !readJSON(w, r, &body) {
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(body, &list) != nil {
		list = []json.RawMessage{body}
	}
	name := r.PathValue("pool")
	topic, kept := pooled[name]
	if !kept {
		w.WriteHeader(http.StatusOK)
		return
	}
	b.mu.Lock()
	b.pools[name] = append(b.pools[name], list...)
	b.pools[name] = b.pools[name][max(0, len(b.pools[name])-maxPool):]
	b.mu.Unlock()
	for _, operation := range list {
		b.events.send(topic, operation)
	}
	w.WriteHeader(http.StatusOK)
}

// pools lists the pools' names in paths (beacon-APIs, "Beacon/Pool").
var pools = []string{
	"attestations", "attester_slashings", "proposer_slashings", "sync_committees", "voluntary_exits",
	"bls_to_execution_changes",
}

// knownPool refuses pools that the standard does not have.
func knownPool(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, pool := range pools {
			if pool == r.PathValue("pool") {
				next(w, r)
				return
			}
		}
		serve.Refuse(w, r, problem{http.StatusNotFound, "this beacon node has no such pool"})
	}
}
