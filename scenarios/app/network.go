package app

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/scenarios"
)

// openNetwork opens the network of the plan, with its clock. The clock stands until it is started.
func (l *planRun) openNetwork() (err error) {
	genesis, p := time.Now().Truncate(time.Second), l.plan
	l.clock = newLabClock(genesis, p.Speed)
	l.network, err = network.Open(network.Config{
		Genesis: genesis, Clock: l.clock, Speed: p.Speed, Slot: p.Slot, SlotsPerEpoch: p.SlotsPerEpoch, Forks: p.Forks,
		Validators: p.Validators, Seed: p.Seed, LocalTxLimit: p.TxsPerSlot,
		RefusesKnown: l.refuseKnown, Relays: len(p.Relays), Stakes: stakesOf(p.Builders), BidRefused: l.bidRefused,
		CommitteeAbsent: func(phase0.Slot) bool { return l.committeeAbsent.Load() }, Log: l.log,
		Actors: network.Actors{
			Users: network.UserWallets, Traders: len(p.Users), Builders: len(p.Builders),
			Searchers: len(p.Searchers), SearcherWallets: network.SearcherWallets,
		},
	})
	return err
}

// refuseKnown says whether the beacon node refuses a block that it has already, and records it.
func (l *planRun) refuseKnown(slot phase0.Slot) bool {
	if !l.refusesKnown.Load() {
		return false
	}
	l.book.add(scenarios.Record{Actor: scenarios.BeaconNode, Subject: scenarios.KnownRefused, Slot: int(slot)},
		time.Time{}, nil)
	return true
}

// bidRefused records that a relay has refused the beacon node's request for a bid.
func (l *planRun) bidRefused(slot phase0.Slot, url string, status int, refusal string) {
	r := scenarios.Record{
		Actor: scenarios.BeaconNode, Subject: scenarios.RequestRefused, Slot: int(slot),
		ID: cmp.Or(refusal, "http-"+strconv.Itoa(status)),
	}
	for _, one := range l.relays {
		if known, err := l.links.to(scenarios.ProposersName, one.name, one.met); err == nil && known == url {
			r.At = one.name
		}
	}
	l.book.add(r, time.Time{}, nil)
}

// refusingEnvelopes answers for the beacon node that it takes no payload, while a fault says so.
func (l *planRun) refusingEnvelopes(node http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.refusesEnvelopes.Load() && r.Method == http.MethodPost && r.URL.Path == envelopesPath {
			http.Error(w, "the node takes no payload", http.StatusServiceUnavailable)
			return
		}
		node.ServeHTTP(w, r)
	})
}

// envelopesPath is where payloads are published (beacon-APIs, publishExecutionPayloadEnvelope).
const envelopesPath = "/eth/v1/beacon/execution_payload_envelopes"

// wallTime returns how long a span of chain time takes in wall time.
func wallTime(chainTime time.Duration, speed float64) time.Duration {
	return time.Duration(float64(chainTime) / speed)
}
