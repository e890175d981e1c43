package sidecar

import (
	"net/http"

	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// Schemas adds the specs that compare what a sidecar answers to a beacon node with the Proposer API
// of the relays' OpenAPI document.
func Schemas(s *suite.Set, document *suite.Document) {
	s.Schemas("sidecar", document, map[string]func(*suite.T){
		"status":               func(t *suite.T) { t.Get(client(t), statusPath) },
		"registerValidator":    tourRegister,
		"getHeader":            tourHeader,
		"submitBlindedBlock":   tourBlinded,
		"submitBlindedBlockV2": tourBlindedV2,
	})
}

func tourRegister(t *suite.T) {
	t.Do(client(t), post(validatorPath, jsonType, []byte("{")))
	send(t, batch(t, 1))
}

func tourHeader(t *suite.T) {
	t.Get(client(t), "/eth/v1/builder/header/1/0x12/0x34")
	a := open(t)
	a.prepareHandsOn(a.offerHonest(0, mid))
	a.ask(map[string]string{"Accept": sszType})
	open(t).ask(nil) // of a sale without bids
}

func tourBlinded(t *suite.T) {
	t.Do(client(t), post(payloadPath, jsonType, []byte("{")))
	a := sell(t, 0)
	a.revealAt(0, "sold")
	a.submit(payloadPath, jsonType)
}

func tourBlindedV2(t *suite.T) {
	t.Do(client(t), post(payloadPathV2, jsonType, []byte("{")))
	a := sell(t, 0)
	a.answerBlock(0, scripted.PayloadV2, scripted.Say(http.StatusAccepted))
	a.submit(payloadPathV2, jsonType)
}
