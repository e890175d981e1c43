package mutant

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
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

// pardons is a fault that answers requests that the target refuses with 400 to 499 as if they were
// right, if they are wrong in one way.
func pardons(path string, wrong func(e *Exchange) bool) func() Fault {
	return answers(path, func(e *Exchange) {
		if e.Status >= 400 && e.Status < 500 && wrong(e) {
			e.say(http.StatusOK, jsonType, "")
		}
	})
}

// hasMedia says whether the request has this content type.
func (e *Exchange) hasMedia(media string) bool {
	return strings.HasPrefix(e.Request.Header.Get("Content-Type"), media)
}

// asked returns the request's body as a JSON object; nil if it is none.
func (e *Exchange) asked() map[string]any { return object(e.askedJSON()) }

// askedJSON returns the request's body as a JSON document; nil if it is none.
func (e *Exchange) askedJSON() any {
	var document any
	if json.Unmarshal(e.Asked, &document) != nil {
		return nil
	}
	return document
}

// same says whether two JSON values are alike; the case of texts does not count.
func same(a, b any) bool {
	one, errOne := json.Marshal(a)
	other, errOther := json.Marshal(b)
	return errOne == nil && errOther == nil && strings.EqualFold(string(one), string(other))
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
	return slices.Concat(generalMutants(), formMutants(), missedMutants(), registerMutants(), heldMutants(),
		headerMutants(), askedMutants(), dutiesMutants(), submitMutants(), takenMutants(), raceMutants(),
		payloadMutants(), revealedMutants(), filterMutants(), forkMutants())
}
