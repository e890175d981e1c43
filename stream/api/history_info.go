package api

import (
	"net/http"

	"github.com/gavel-relay/gavel/internal/serve"
)

// about is the answer of info (interface description, "History info record").
type about struct {
	Count        int64 `json:"count"`
	MinBlock     int64 `json:"minBlock"`
	MaxBlock     int64 `json:"maxBlock"`
	MinTimestamp int64 `json:"minTimestamp"`
	MaxTimestamp int64 `json:"maxTimestamp"`
	MaxLimit     int   `json:"maxLimit"`
}

// info answers with what the history has. For an empty history everything but maxLimit is 0.
func (h *historyHandler) info(w http.ResponseWriter, r *http.Request) error {
	info, err := h.History.Info()
	if err != nil {
		return storage(err)
	}
	serve.JSON(w, r, http.StatusOK, about{
		Count: info.Count, MinBlock: info.MinBlock, MaxBlock: info.MaxBlock, MinTimestamp: info.MinSec,
		MaxTimestamp: info.MaxSec, MaxLimit: h.MaxLimit,
	})
	return nil
}
