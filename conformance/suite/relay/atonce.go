package relay

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

const (
	// rivals is how many builders bid at once, and rounds how often they do so in a slot. An update
	// that is lost in a race is not lost each time.
	rivals, rounds = 4, 5
)

// atOnce: builders who bid at the same time.
func atOnce(r *room) {
	r.It("REL-SUB-41", "serves the highest of the bids that come at once", func(t *suite.T) {
		a := r.openToPropose(t)
		var bids [rounds][]*submission
		for round := range bids {
			for builder := range rivals {
				value := gwei(uint64(1000 + 10*round + builder))
				bids[round] = append(bids[round], a.block(fmt.Sprint(builder), value))
			}
		}
		for _, list := range bids {
			a.submittedAtOnce(list)
			a.serves(list[rivals-1])
		}
		if t.Now().After(a.start().Add(clockMargin)) {
			t.Inconclusive("the slot began before all bids were sent")
		}
	})
}

// submittedAtOnce submits blocks at the same time. The spec is inconclusive unless all are
// accepted.
func (a *auction) submittedAtOnce(list []*submission) {
	answers, failures := make([]*probe.Answer, len(list)), make([]error, len(list))
	client := builderAPI(a.t)
	bodies := make([]probe.Request, len(list))
	for i, s := range list {
		bodies[i] = post(submitPath, jsonType, s.json())
	}
	var group sync.WaitGroup
	for i := range list {
		group.Go(func() { answers[i], failures[i] = client.Do(a.t, bodies[i]) })
	}
	group.Wait()
	for i := range list {
		a.t.Ready(failures[i], "submit blocks at once")
		a.t.Prepared(answers[i], "submit a valid block", http.StatusOK, http.StatusAccepted)
	}
}
