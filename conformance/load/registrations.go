package load

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/world"
)

// renewEvery is how often validators sign a registration anew during a run. In between the same
// ones are sent again, as sidecars do with those of each epoch.
const renewEvery = 10 * time.Second

// registrations are the requests that register the world's validators: rounds of batches, each
// round with newer timestamps. They are signed before the run, since that takes long.
type registrations struct {
	first  time.Time
	rounds [][][]byte
}

// signRegistrations signs all that validators register from a time on, for so long.
func signRegistrations(keys []*probe.BLSKey, facts world.Facts, batch int, first time.Time,
	long time.Duration) (*registrations, error) {
	r := &registrations{first: first.Truncate(time.Second)}
	domain := builderDomain(facts)
	for n := range int(long/renewEvery) + 1 {
		var list []*builderv1.SignedValidatorRegistration
		for i, key := range keys {
			message := &builderv1.ValidatorRegistration{FeeRecipient: world.FeeRecipient(i), GasLimit: gasLimit,
				Timestamp: r.first.Add(time.Duration(n) * renewEvery), Pubkey: key.Public}
			root, err := message.HashTreeRoot()
			if err != nil {
				return nil, fmt.Errorf("hash a registration: %w", err)
			}
			list = append(list, &builderv1.SignedValidatorRegistration{Message: message,
				Signature: key.Sign(probe.SigningRoot(root, domain))})
		}
		var round [][]byte
		for some := range slices.Chunk(list, batch) {
			raw, err := json.Marshal(some)
			if err != nil {
				return nil, fmt.Errorf("encode registrations: %w", err)
			}
			round = append(round, raw)
		}
		r.rounds = append(r.rounds, round)
	}
	return r, nil
}

// body returns the body of the request with this number at a time.
func (r *registrations) body(n int, at time.Time) []byte {
	round := r.rounds[min(max(int(at.Sub(r.first)/renewEvery), 0), len(r.rounds)-1)]
	return round[n%len(round)]
}
