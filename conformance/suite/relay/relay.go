// Package relay has the specs of a block relay: of its proposer, builder and data interfaces, with
// one file for each operation.
//
//	validators ─register─▶ ┌────────┐ ◀─submit─ builders of the suite, with blocks of the world
//	proposer ─getHeader──▶ │ target │
//	proposer ─getPayload─▶ └────────┘ ─publish─▶ beacon node of the world
package relay

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
)

// Specs adds all specs of relays to a set.
func Specs(s *suite.Set) {
	shared := &specs{Set: s}
	s.Sane("relay", shared.checkWorld)
	describeLiteral(&specs{Set: s}) // another relay, which needs registrations of its own
	for _, add := range []func(*specs){
		describeStatus, describeGeneral, describeMissedSlots, describeMedia, describeRegistering, describeRenewals,
		describeForgedRegistrations, describeDuties, describeSubmissions, describeRivalsAtOnce, describeRuleBreaks,
		describeHeader, describeReplacedRecipients, describePayload, describeFields, describeData,
		describeSignedValues, describeRefusedPayloads, describeNulls, describeTrustedBuilders, describeCombinations,
		describeFilterCombinations, describeListModels, describeAuctionModels, describeRegistrationModel,
		describeAcceptModel, describeForks, describeGloasBids, describeBidRequests, describeCaps,
		describeGloasSubmissions, describeGloasDuties, describeGloasBlocks, describeGloasDeliveries, describeGloasFork,
	} {
		add(shared)
	}
}

// specs is a set of specs with the state that they share: the registrations of the world's
// validators, which are sent once.
type specs struct {
	*suite.Set

	mu         sync.Mutex
	registered bool
	// tries is how often the registrations of all validators failed, and failure why the last time.
	tries   int
	failure error
	keys    []*probe.BLSKey
	// stamp is the newest timestamp of a registration so far, in seconds.
	stamp uint64
}

const (
	jsonType = "application/json"
	sszType  = "application/octet-stream"
)

// gasLimit is the gas limit that validators register, and that of the world's genesis.
const gasLimit = 60_000_000

func proposerAPI(t *suite.T) *probe.Client { return t.Client(t.Target.Relay.ProposerURL) }
func builderAPI(t *suite.T) *probe.Client  { return t.Client(t.Target.Relay.BuilderURL) }
func dataAPI(t *suite.T) *probe.Client     { return t.Client(t.Target.Relay.DataURL) }

// builderDomain is the domain of the signatures of registrations, submissions and bids.
func builderDomain(facts world.Facts) phase0.Domain {
	var version phase0.Version
	copy(version[:], unhex(facts.GenesisForkVersion))
	return probe.Domain(probe.DomainBuilder, version, phase0.Root{})
}

// unhex decodes hexadecimal text that the suite or the world has written. It panics on any other.
func unhex(text string) []byte {
	raw, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil {
		panic("not hex: " + text)
	}
	return raw
}

// validators returns the keys of the world's validators.
func (r *specs) validators(t *suite.T) []*probe.BLSKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.keys); i < len(t.World.Facts.ValidatorKeys); i++ {
		key, err := probe.ParseBLSKey(unhex(t.World.Facts.ValidatorKeys[i]))
		t.Ready(err, "read the world's keys")
		r.keys = append(r.keys, key)
	}
	return r.keys
}

// payee returns the fee recipient that a validator registers.
func payee(index int) bellatrix.ExecutionAddress { return world.FeeRecipient(index) }

// registration makes a signed registration of a validator.
func registration(t *suite.T, key *probe.BLSKey, to bellatrix.ExecutionAddress,
	at time.Time) *builderv1.SignedValidatorRegistration {
	message := &builderv1.ValidatorRegistration{FeeRecipient: to, GasLimit: gasLimit, Timestamp: at.Truncate(time.Second),
		Pubkey: key.Public}
	signed := &builderv1.SignedValidatorRegistration{Message: message}
	sign(t, signed, key)
	return signed
}

func sign(t *suite.T, r *builderv1.SignedValidatorRegistration, key *probe.BLSKey) {
	root, err := r.Message.HashTreeRoot()
	t.Ready(err, "hash a registration")
	r.Signature = key.Sign(probe.SigningRoot(root, builderDomain(t.World.Facts)))
}

func post(path, media string, body []byte) probe.Request {
	return probe.Request{Method: http.MethodPost, Path: path, Header: map[string]string{"Content-Type": media}, Body: body}
}

func encode(t *suite.T, value any) []byte {
	raw, err := json.Marshal(value)
	t.Ready(err, "encode")
	return raw
}

func sendRegistrations(t *suite.T, list ...*builderv1.SignedValidatorRegistration) *probe.Answer {
	return t.Do(proposerAPI(t), post("/eth/v1/builder/validators", jsonType, encode(t, list)))
}

// registerAll registers all validators but the one of world.Stranger, once, and waits until the
// target lists duties.
func (r *specs) registerAll(t *suite.T) {
	if err := r.registerOnce(t); err != nil {
		t.Inconclusive("%v", err)
	}
}

// mostTries is how many specs wait for the target to list the registered validators. A target that
// has just started may need long; one that never lists them must not take that time from each spec.
const mostTries = 2

func (r *specs) register(t *suite.T, keys []*probe.BLSKey) error {
	genesis := time.Unix(t.World.Facts.GenesisTime, 0)
	t.Until(genesis.Add(time.Second))
	var list []*builderv1.SignedValidatorRegistration
	for i, key := range keys {
		if world.KindOf(phase0.ValidatorIndex(i), len(keys)) != world.Stranger {
			list = append(list, registration(t, key, payee(i), t.Now()))
		}
	}
	return t.Eventually(t.Epochs(2), func() error {
		answer, err := proposerAPI(t).Do(t, post("/eth/v1/builder/validators", jsonType, encode(t, list)))
		switch {
		case err != nil:
			return err
		case answer.Status != http.StatusOK:
			return fmt.Errorf("%s", answer)
		}
		known, err := listDuties(t)
		if err == nil && len(known) == 0 {
			err = errNoProposer
		}
		return err
	})
}

// duty is an entry of the builders' list of proposers.
type duty struct {
	Slot  string                                 `json:"slot"`
	Index string                                 `json:"validator_index"`
	Entry *builderv1.SignedValidatorRegistration `json:"entry"`
}

func listDuties(t *suite.T) ([]duty, error) {
	answer, err := builderAPI(t).Do(t, probe.Request{Method: http.MethodGet, Path: "/relay/v1/builder/validators"})
	if err != nil {
		return nil, err
	}
	if answer.Status != http.StatusOK {
		return nil, fmt.Errorf("%s", answer)
	}
	var list []duty
	return list, answer.JSON(&list)
}
