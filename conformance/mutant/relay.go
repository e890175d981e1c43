package mutant

import (
	"net/http"
	"slices"
)

const (
	statusPath   = "/eth/v1/builder/status"
	registerPath = "/eth/v1/builder/validators"
	headerPath   = "/eth/v1/builder/header/"
	payloadPath  = "/eth/v1/builder/blinded_blocks"
	payloadV2    = "/eth/v2/builder/blinded_blocks"
	dutiesPath   = "/relay/v1/builder/validators"
	submitPath   = "/relay/v1/builder/blocks"
)

// answers is a fault that changes answers at a path.
func answers(path string, change func(e *Exchange)) func() Fault {
	return func() Fault {
		return Fault{Answer: func(e *Exchange) {
			if e.on(path) {
				change(e)
			}
		}}
	}
}

// asks is a fault that changes requests at a path, or answers them in place of the target.
func asks(path string, change func(e *Exchange) bool) func() Fault {
	return func() Fault {
		return Fault{Ask: func(e *Exchange) bool { return e.on(path) && change(e) }}
	}
}

// status is a fault that changes statuses from first to last into another one, and empties the
// body.
func status(path string, first, last, to int) func() Fault {
	return answers(path, func(e *Exchange) {
		if e.Status >= first && e.Status <= last {
			e.say(to, jsonType, "")
		}
	})
}

// document is a fault that changes the JSON of answers with status 200.
func document(path string, change func(document any) any) func() Fault {
	return answers(path, func(e *Exchange) {
		if e.Status == http.StatusOK {
			e.edit(change)
		}
	})
}

// bid is a fault that changes the message of bids that getHeader serves.
func bid(change func(message map[string]any)) func() Fault {
	return document(headerPath, func(d any) any {
		if message := at(d, "data", "message"); message != nil {
			change(message)
		}
		return d
	})
}

// relayMutants returns the mutants that are put before the proposer and builder interfaces of a
// relay.
func relayMutants() []Mutant {
	return slices.Concat(generalMutants(), registerMutants(), headerMutants(), dutiesMutants(), submitMutants(),
		payloadMutants())
}
