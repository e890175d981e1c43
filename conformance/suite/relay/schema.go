package relay

import (
	"fmt"
	"net/http"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Schemas adds the specs that compare the answers of a relay with its OpenAPI document.
func Schemas(s *suite.Set, document *suite.Document) {
	r := &specs{Set: s}
	s.Schemas("relay", document, map[string]func(*suite.T){
		"status":                   func(t *suite.T) { t.Get(proposerAPI(t), statusPath) },
		"registerValidator":        r.tourRegistrations,
		"getHeader":                r.tourHeader,
		"submitBlindedBlock":       func(t *suite.T) { r.tourBlinded(t, payloadPath) },
		"submitBlindedBlockV2":     func(t *suite.T) { r.tourBlinded(t, "/eth/v2/builder/blinded_blocks") },
		"getExecutionPayloadBid":   r.tourBids,
		"submitBuilderPreferences": r.tourCaps,
		"submitSignedBeaconBlock":  r.tourSignedBlocks,
		"getValidators":            r.tourDuties,
		"submitBlock":              r.tourSubmit,
		"getDeliveredPayloads":     r.tourDelivered,
		"getReceivedBids":          r.tourReceived,
		"getValidatorRegistration": r.tourRegistration,
	})
}

// The tours have the target answer an operation in all forms, right requests first. What needs a
// world is left out in black mode.

func (r *specs) tourRegistrations(t *suite.T) {
	t.Do(proposerAPI(t), post(registerPath, jsonType, []byte("{")))
	t.Do(proposerAPI(t), post(registerPath, "text/plain", []byte("[]")))
	if t.World != nil {
		sendRegistrations(t, r.freshRegistration(t))
	}
}

func (r *specs) tourHeader(t *suite.T) {
	for _, path := range []string{"abc/" + zeroHash + "/" + someKey, "1/0x/" + someKey} {
		t.Get(proposerAPI(t), "/eth/v1/builder/header/"+path)
	}
	if t.World == nil {
		return
	}
	a := r.open(t)
	a.prepareSubmitted(a.block("a", gwei(1000)))
	for _, accept := range []string{jsonType, sszType, "text/html"} {
		a.header(accept)
	}
	r.openAlone(t).header(jsonType)
}

func (r *specs) tourBlinded(t *suite.T, path string) {
	t.Do(proposerAPI(t), post(path, jsonType, []byte("{")))
	t.Do(proposerAPI(t), post(path, "text/plain", []byte("{}")))
	if t.World == nil {
		return
	}
	a, _, block := r.prepareWon(t, 0)
	a.ask(path, block)
	if path == payloadPath {
		request := post(path, jsonType, encode(t, probe.Blinded(a.fork(), block)))
		request.Header["Accept"] = sszType
		t.Do(proposerAPI(t), request)
	}
}

// The tours of gloas are made in its worlds only.

func (r *specs) tourBids(t *suite.T) {
	a := r.openGloas(t, world.Wanted{})
	a.prepareOffered(a.offer("a", gwei(1000)))
	for _, accept := range []string{jsonType, sszType, "text/html"} {
		ask := a.askFor()
		ask.Header["Accept"] = accept
		ask.send()
	}
	ask := a.askFor()
	ask.auth.Signature[7] ^= 2
	ask.send()
	r.openGloas(t, world.Wanted{Alone: true}).askFor().send()
}

func (r *specs) tourCaps(t *suite.T) {
	a := r.openGloas(t, world.Wanted{Alone: true})
	a.capAt(1_000_000_000).send()
	of := a.capAt(1_000_000_000)
	of.fork = eth.Fulu.String()
	of.send()
}

func (r *specs) tourSignedBlocks(t *suite.T) {
	a, _, block := r.prepareWonGloas(t, world.Order{})
	t.Do(proposerAPI(t), versioned(beaconBlocksPath, jsonType, eth.Gloas.String(), []byte("{")))
	a.hand(block)
}

func (r *specs) tourDuties(t *suite.T) {
	if t.World != nil {
		r.registerAll(t)
	}
	t.Get(builderAPI(t), dutiesPath)
}

func (r *specs) tourSubmit(t *suite.T) {
	t.Do(builderAPI(t), post(submitPath, jsonType, []byte("{")))
	t.Do(builderAPI(t), post(submitPath, "text/plain", []byte("{}")))
	if t.World != nil {
		a := r.open(t)
		a.prepareSubmitted(a.block("a", gwei(1000)))
	}
}

func (r *specs) tourDelivered(t *suite.T) {
	for _, query := range []string{"limit=1", "limit=-1"} {
		t.Get(dataAPI(t), deliveredPath+"?"+query)
	}
	if t.World != nil {
		r.prepareDelivered(t)
	}
}

func (r *specs) tourReceived(t *suite.T) {
	for _, query := range []string{"slot=1", "slot=x"} {
		t.Get(dataAPI(t), receivedPath+"?"+query)
	}
	if t.World != nil {
		a := r.open(t)
		s := a.prepareSubmitted(a.block("a", gwei(1000)))
		t.Ready(waitListed(t, receivedPath, fmt.Sprintf("block_hash=%s", s.Message.BlockHash)),
			"see the submission in the data API")
	}
}

func (r *specs) tourRegistration(t *suite.T) {
	const path = "/relay/v1/data/validator_registration?pubkey="
	t.Get(dataAPI(t), path+"0x12")
	t.Get(dataAPI(t), path+someKey)
	if t.World == nil {
		return
	}
	one := r.freshRegistration(t)
	t.Prepared(sendRegistrations(t, one), "register", http.StatusOK)
	t.Ready(waitHeld(t, one), "see the registration in the data API")
}
