package registry

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

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
// Signatures are verified on all cores. The context is not consulted: a batch that has been taken is finished.
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
	if _, known := r.validators[message.Pubkey]; !known {
		return relay.RegistrationUnknownValidator.With("%#x", message.Pubkey[:]), false
	}
	return nil, r.changes(entry)
}

// changes says whether an entry would replace the stored one. The caller holds the lock.
func (r *Registry) changes(entry *relay.SignedRegistration) bool {
	stored := r.registrations[entry.Message.Pubkey]
	if stored == nil {
		return true
	}
	same := stored.Message.FeeRecipient == entry.Message.FeeRecipient && stored.Message.GasLimit == entry.Message.GasLimit
	return !same && !entry.Message.Timestamp.Before(stored.Message.Timestamp)
}

func (r *Registry) verify(entries []*relay.SignedRegistration, indices []int, refused []*relay.Refused) {
	domain := r.spec.BuilderDomain()
	queue := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(indices)) {
		workers.Go(func() {
			for i := range queue {
				refused[i] = verifyOne(entries[i], func(root [32]byte) [32]byte { return eth.SigningRoot(root, domain) })
			}
		})
	}
	for _, i := range indices {
		queue <- i
	}
	close(queue)
	workers.Wait()
}

func verifyOne(entry *relay.SignedRegistration, signingRoot func([32]byte) [32]byte) *relay.Refused {
	root, err := entry.Message.HashTreeRoot()
	if err == nil {
		err = bls.Verify(entry.Message.Pubkey, signingRoot(root), entry.Signature)
	}
	if err != nil {
		return relay.RegistrationSignature.With("%s", fmt.Sprint(err))
	}
	return nil
}

// store keeps an entry unless one that came in meanwhile makes it old.
func (r *Registry) store(entry *relay.SignedRegistration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.changes(entry) {
		return false
	}
	r.registrations[entry.Message.Pubkey] = entry
	return true
}

// Restore puts back registrations that were verified in an earlier life of the process.
func (r *Registry) Restore(entries []*relay.SignedRegistration) {
	for _, entry := range entries {
		r.store(entry)
	}
}
