package sidecar

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// ConsensusSpecs adds all specs of consensus clients with validators to a set: what such a client
// asks relays for, when it proposes a block of its own, and when it asks relays no more.
//
//	client under test ──registrations, getHeader, signed blocks──▶ scripted relays a, b, c
//	its beacon node ──duties, attributes, blocks──▶ course of slots (scripted.Proposals) ──what was seen──▶ spec
//
// The network around the client is the client's own. All specs judge one course of slots, because a
// circuit breaker that has opened stays so.
func ConsensusSpecs(s *suite.Set) {
	s.Slow("CON-REG-01", "sends its validators' registrations to each relay", checkRegistered)
	s.Slow("CON-HDR-01", "asks for the slot, on the announced parent, for its proposer", checkRequests)
	for _, row := range []struct {
		clause string
		does   []scripted.Behaviour
	}{
		{"CON-LOC-01", []scripted.Behaviour{scripted.NoBid}},
		{"CON-LOC-02", []scripted.Behaviour{scripted.Fails, scripted.HangsUp, scripted.Garbage}},
		{"CON-LOC-03", []scripted.Behaviour{scripted.Silent}},
		{"CON-LOC-04", []scripted.Behaviour{scripted.Unsigned, scripted.Elsewhere}},
	} {
		for _, does := range row.does {
			s.Slow(row.clause, "proposes a block of its own when all relays "+string(does), func(t *suite.T) {
				for _, one := range findProposals(t, does) {
					wantAsked(t, one)
					t.Check(len(one.Signed) == 0, "no signed blinded block at a relay", name(one))
					t.Check(one.Block, "a block in the slot", "none in "+name(one))
				}
			})
		}
	}
	describeSignedOnce(s)
	describeBreaker(s)
}

// runCourse is what was seen of the client. The spec is inconclusive if there is nothing.
func runCourse(t *suite.T) []scripted.Proposal {
	list, err := t.Proposals.Course(t)
	if err != nil {
		t.Inconclusive("%v", err)
	}
	return list
}

// findProposals are the slots in which relays did one thing.
func findProposals(t *suite.T, does scripted.Behaviour) (list []scripted.Proposal) {
	for _, one := range runCourse(t) {
		if one.Relays == does {
			list = append(list, one)
		}
	}
	return list
}

func name(one scripted.Proposal) string {
	return fmt.Sprintf("slot %d, in which all relays %s", one.Slot, one.Relays)
}

// wantAsked fails the spec unless a relay was asked for a header of the slot.
func wantAsked(t *suite.T, one scripted.Proposal) {
	t.Check(len(one.Asked) > 0, "a request for a header in "+name(one), "none")
}

// checkRequests: each request is about the slot's proposer and a parent that the beacon node has
// announced.
func checkRequests(t *suite.T) {
	judged := 0
	for _, one := range runCourse(t) {
		for _, request := range one.Asked {
			parts := strings.Split(request.Path, "/")
			judged++
			t.Check(strings.EqualFold(parts[len(parts)-1], fmt.Sprintf("%#x", one.Proposer[:])), "the proposer of "+name(one),
				request.Path)
			t.Check(len(one.Parents) == 0 || slices.ContainsFunc(one.Parents, func(parent phase0.Hash32) bool {
				return strings.EqualFold(parts[len(parts)-2], fmt.Sprintf("%#x", parent[:]))
			}), "a parent that was announced for "+name(one), request.Path)
		}
	}
	if judged == 0 {
		t.Inconclusive("the client has asked no relay for a header")
	}
}

// checkRegistered: each relay has the registration of each validator that proposes, signed by it.
func checkRegistered(t *suite.T) {
	domain := t.Proposals.Network.BuilderDomain()
	for _, one := range runCourse(t) {
		for _, relay := range t.Proposals.All {
			list := relay.Heard(scripted.Register, one.Proposer[:])
			t.Check(len(list) > 0, fmt.Sprintf("a registration of %s at relay %s", one.Proposer, relay.Name), "none")
			for _, request := range list {
				r, err := probe.RegistrationOf(request.Header.Get("Content-Type"), request.Body, one.Proposer)
				t.Check(err == nil, "registrations in JSON or SSZ", err)
				root, err := r.Message.HashTreeRoot()
				t.Ready(err, "hash a registration")
				err = probe.VerifyBLS(one.Proposer, probe.SigningRoot(root, domain), r.Signature)
				t.Check(err == nil, "a registration that its validator signed", err)
			}
		}
	}
}
