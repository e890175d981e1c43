package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// validators lists the registrations of the proposers of this epoch and the next (relay-specs,
// getValidators).
func (a *builderHandlers) validators(w http.ResponseWriter, r *http.Request) {
	raw, err := a.list.encode(a.Duties.Duties())
	if err != nil {
		Refuse(w, r, err)
		return
	}
	serve.Bytes(w, http.StatusOK, wire.JSON.ContentType(), raw)
}

// dutyList keeps the last encoded list, because all builders poll it and it changes only with an
// epoch or a registration. It is safe for concurrent use.
type dutyList struct{ last atomic.Pointer[encodedDuties] }

// encodedDuties never changes.
type encodedDuties struct {
	version uint64
	raw     []byte
}

// encode returns the kept bytes if the version is the same, since a version belongs to one list.
func (l *dutyList) encode(duties []relay.RegisteredDuty, version uint64) ([]byte, error) {
	if last := l.last.Load(); last != nil && last.version == version {
		return last.raw, nil
	}
	type duty struct {
		Slot           string                    `json:"slot"`
		ValidatorIndex string                    `json:"validator_index"`
		Entry          *relay.SignedRegistration `json:"entry"`
	}
	list := make([]duty, len(duties))
	for i, d := range duties {
		list[i] = duty{
			Slot: strconv.FormatUint(uint64(d.Slot), 10), ValidatorIndex: strconv.FormatUint(uint64(d.Index), 10),
			Entry: d.Registration,
		}
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("encode duties: %w", err)
	}
	l.last.Store(&encodedDuties{version, raw})
	return raw, nil
}
