package data

import (
	"net/http"
	"strconv"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
)

// registration is a validator's newest signed registration (relay-specs, validator_registration).
func (a *skin) registration(w http.ResponseWriter, r *http.Request) {
	q := newReader(r)
	pubkey := q.pubkey("pubkey")
	switch {
	case q.refused != nil:
		serve.Refuse(w, r, q.refused)
		return
	case pubkey == nil:
		serve.Refuse(w, r, relay.ArgumentMissing.With("pubkey"))
		return
	}
	found, err := a.Archive.Registration(r.Context(), *pubkey)
	switch {
	case err != nil:
		serve.Refuse(w, r, err)
	case found == nil:
		serve.Refuse(w, r, relay.RegistrationNotFound.With("validator %s", lowerHex(pubkey[:])))
	default:
		m := found.Message
		serve.JSON(w, r, http.StatusOK, map[string]any{
			"message": map[string]string{
				"fee_recipient": lowerHex(m.FeeRecipient[:]), "gas_limit": strconv.FormatUint(m.GasLimit, 10),
				"timestamp": strconv.FormatInt(m.Timestamp.Unix(), 10), "pubkey": lowerHex(m.Pubkey[:]),
			},
			"signature": lowerHex(found.Signature[:]),
		})
	}
}
