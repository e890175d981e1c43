package admin

import (
	"net/http"

	"github.com/gavel-relay/gavel/internal/serve"
)

// status says how the relay is.
func (a *skin) status(w http.ResponseWriter, r *http.Request) {
	serve.JSON(w, r, http.StatusOK, a.Status())
}
