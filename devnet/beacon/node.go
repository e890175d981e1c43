package beacon

import (
	"net/http"
)

// health answers 200 while the node runs: it never syncs.
func (b *Beacon) health(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

func (b *Beacon) syncing(w http.ResponseWriter, r *http.Request) {
	data(w, r, map[string]any{
		"head_slot": decimal(b.Head().Slot), "sync_distance": "0", "is_syncing": false, "is_optimistic": false,
		"el_offline": false,
	}, nil)
}

func (b *Beacon) version(w http.ResponseWriter, r *http.Request) {
	data(w, r, map[string]string{"version": "gavel-devnet/v1"}, nil)
}

// peers lists no peers: everything is in this process.
func (b *Beacon) peers(w http.ResponseWriter, r *http.Request) {
	data(w, r, []any{}, map[string]any{"meta": map[string]any{"count": 0}})
}

func (b *Beacon) peerCount(w http.ResponseWriter, r *http.Request) {
	data(w, r, map[string]string{"disconnected": "0", "connecting": "0", "connected": "0", "disconnecting": "0"}, nil)
}

// identity answers for a node that has no peer-to-peer network.
func (b *Beacon) identity(w http.ResponseWriter, r *http.Request) {
	data(w, r, map[string]any{
		"peer_id": "", "enr": "", "p2p_addresses": []string{}, "discovery_addresses": []string{},
		"metadata": map[string]string{"seq_number": "0", "attnets": "0x0000000000000000", "syncnets": "0x00"},
	}, nil)
}
