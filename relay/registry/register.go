package registry

import (
	"context"
	"time"

	"github.com/gavel-relay/gavel/internal/defect"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
)

// maxAhead is how far a registration's timestamp may lie ahead of our clock (builder-specs, "Registration").
const maxAhead = 10 * time.Second

// Register judges each registration by itself: good ones are stored, bad ones are returned with their index and reason.
//
//	unknown validator, timestamp before genesis or more than 10 s ahead   refused
//	same fee recipient and gas limit as stored                            accepted without looking at the signature: nothing changes
//	older than the stored one                                             ignored, no failure
//	otherwise                                                             the signature decides
//
// Signatures are verified together, on all cores. The context is not consulted: a batch that has been taken is finished.
func (r *Registry) Register(_ context.Context, at time.Time, entries []*relay.SignedRegistration) []relay.RegistrationFailure {
	refused := make([]*relay.Refused, len(entries))
	var changed []int
	for i, entry := range entries {
		var verify bool
		if refused[i], verify = r.judge(at, entry); verify {
			changed = append(changed, i)
		}
	}
	r.verify(entries, changed, refused)

	for _, i := range changed {
		if refused[i] == nil && r.store(entries[i]) {
			r.facts.Record(relay.RegistrationStored{At: at, Registration: entries[i]})
		}
	}
	var failures []relay.RegistrationFailure
	for i, reason := range refused {
		if reason != nil {
			failures = append(failures, relay.RegistrationFailure{Index: i, Refused: reason})
		}
	}
	return failures
}

// judge applies all rules but the signature and says whether that one has to be looked at.
func (r *Registry) judge(at time.Time, entry *relay.SignedRegistration) (refused *relay.Refused, verify bool) {
	message := entry.Message
	switch {
	case message.Timestamp.Before(r.spec.GenesisTime.Truncate(time.Second)):
		return relay.RegistrationTooEarly.With("%d", message.Timestamp.Unix()), false
	case message.Timestamp.After(at.Add(maxAhead)):
		return relay.RegistrationTooLate.With("%d, it is %d here", message.Timestamp.Unix(), at.Unix()), false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	row := r.table.find(message.Pubkey)
	if row == nil || !row.known {
		return relay.RegistrationUnknownValidator.With("%#x", message.Pubkey[:]), false
	}
	return nil, row.supersedes(message)
}

// verify looks at the signatures of some entries.
func (r *Registry) verify(entries []*relay.SignedRegistration, indices []int, refused []*relay.Refused) {
	if len(indices) == 0 {
		return
	}
	domain := r.spec.BuilderDomain()
	triples, places := make([]bls.Triple, 0, len(indices)), make([]int, 0, len(indices))
	for _, i := range indices {
		root, err := entries[i].Message.HashTreeRoot()
		if err != nil {
			refused[i] = relay.RegistrationSignature.With("%v", err)
			continue
		}
		places = append(places, i)
		triples = append(triples, bls.Triple{
			Key: entries[i].Message.Pubkey, Root: eth.SigningRoot(root, domain), Signature: entries[i].Signature,
		})
	}
	for i, err := range r.verifyBatch(triples) {
		if err != nil && !defect.On(defect.UnsignedRegistration) {
			refused[places[i]] = relay.RegistrationSignature.With("%v", err)
		}
	}
}

// store keeps an entry unless one that came in meanwhile makes it old, or the validator has exited meanwhile.
func (r *Registry) store(entry *relay.SignedRegistration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	row := r.table.find(entry.Message.Pubkey)
	if row == nil || !row.known || !row.supersedes(entry.Message) {
		return false
	}
	r.table.put(row, entry)
	r.touch(entry.Message.Pubkey)
	return true
}
