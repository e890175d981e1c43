package api

import (
	"net/http"
	"strconv"

	"github.com/gavel-relay/gavel/relay"
)

// signedRegistration is the answer. In a table the signature is one more column after the message's
// fields.
type signedRegistration struct {
	Message struct {
		FeeRecipient string `json:"fee_recipient"`
		GasLimit     string `json:"gas_limit"`
		Timestamp    string `json:"timestamp"` // seconds
		Pubkey       string `json:"pubkey"`
	} `json:"message"`
	Signature string `json:"signature"`
}

func registrationOf(r *relay.SignedRegistration) (answer signedRegistration) {
	m := r.Message
	answer.Message.FeeRecipient, answer.Message.GasLimit = lowerHex(m.FeeRecipient[:]), strconv.FormatUint(m.GasLimit, 10)
	answer.Message.Timestamp, answer.Message.Pubkey = strconv.FormatInt(m.Timestamp.Unix(), 10), lowerHex(m.Pubkey[:])
	answer.Signature = lowerHex(r.Signature[:])
	return answer
}

func (signedRegistration) columns() []string {
	return []string{"fee_recipient", "gas_limit", "timestamp", "pubkey", "signature"}
}

func (r signedRegistration) cells() []string {
	return []string{r.Message.FeeRecipient, r.Message.GasLimit, r.Message.Timestamp, r.Message.Pubkey, r.Signature}
}

// registration answers with a validator's newest signed registration (relay-specs,
// validator_registration).
func (a *dataHandlers) registration(w http.ResponseWriter, r *http.Request, media string) {
	q := newReader(r)
	pubkey := q.pubkey("pubkey")
	switch {
	case q.refused != nil:
		Refuse(w, r, q.refused)
		return
	case pubkey == nil:
		Refuse(w, r, relay.ArgumentMissing.With("pubkey"))
		return
	}
	found, err := a.Archive.Registration(r.Context(), *pubkey)
	switch {
	case err != nil:
		Refuse(w, r, err)
	case found == nil:
		Refuse(w, r, relay.RegistrationNotFound.With("validator %s", lowerHex(pubkey[:])))
	default:
		answerOne(w, r, media, registrationOf(found))
	}
}
