package api

import (
	"net/http"

	"github.com/gavel-relay/gavel/internal/serve"
)

// status answers with a summary of the relay's state.
func (a *adminHandlers) status(w http.ResponseWriter, r *http.Request) {
	serve.JSON(w, r, http.StatusOK, a.Status())
}
