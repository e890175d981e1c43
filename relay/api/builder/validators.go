package builder

import (
	"net/http"
	"strconv"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
)

// duty is an entry of the list (relay-specs, getValidators).
type duty struct {
	Slot           string                    `json:"slot"`
	ValidatorIndex string                    `json:"validator_index"`
	Entry          *relay.SignedRegistration `json:"entry"`
}

// validators lists the registrations of the proposers of this epoch and the next.
func (a *skin) validators(w http.ResponseWriter, r *http.Request) {
	list := []duty{}
	for _, d := range a.Duties.Duties() {
		list = append(list, duty{
			Slot: strconv.FormatUint(uint64(d.Slot), 10), ValidatorIndex: strconv.FormatUint(uint64(d.Index), 10), Entry: d.Registration,
		})
	}
	serve.JSON(w, r, http.StatusOK, list)
}
