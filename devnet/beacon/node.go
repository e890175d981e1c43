package beacon

import (
	"net/http"
)

// health is 200 while the node is up: it is never syncing.
func (b *Beacon) health(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

func (b *Beacon) syncing(w http.ResponseWriter, r *http.Request) {
	data(w, r, map[string]any{
		"head_slot": decimal(b.Head().Slot), "sync_distance": "0", "is_syncing": false, "is_optimistic": false, "el_offline": false,
	}, nil)
}

func (b *Beacon) version(w http.ResponseWriter, r *http.Request) {
	data(w, r, map[string]string{"version": "gavel-devnet/v1"}, nil)
}
