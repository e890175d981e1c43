package wire

import (
	"encoding/json"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

const whyNull = "Go's libraries write null for a list that nobody has set"

// ofAnyLength are the exceptions for bytes that have no length of their own.
func ofAnyLength(where string, whats ...string) (list []servetest.Exception) {
	for _, what := range whats {
		list = append(list, servetest.Exception{Where: where, What: what, Why: "these bytes may be fewer or more"})
	}
	return list
}

// requestExceptions are for execution requests, wherever they stand.
func requestExceptions(fork eth.Fork, within string) (list []servetest.Exception) {
	if fork < eth.Electra {
		return nil
	}
	for _, name := range []string{"deposits", "withdrawals", "consolidations"} {
		list = append(list, servetest.Exception{Where: within + "execution_requests." + name, What: "null", Why: whyNull})
	}
	return list
}

func TestMutatedSubmissions(t *testing.T) {
	for _, fork := range eth.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			contents := newSource(3).contents(fork)
			contents.Payload.Transactions = []bellatrix.Transaction{{2, 3}, {4, 5}}
			nullable := []string{"execution_payload.transactions"}
			if fork >= eth.Capella {
				nullable = append(nullable, "execution_payload.withdrawals")
			}
			if fork >= eth.Deneb {
				contents.Blobs.Blobs = nil
				nullable = append(nullable, "blobs_bundle.commitments", "blobs_bundle.proofs", "blobs_bundle.blobs")
			}
			exceptions := append(requestExceptions(fork, ""),
				ofAnyLength("execution_payload.extra_data", "a byte less", "a byte more", "no bytes")...)
			exceptions = append(exceptions,
				ofAnyLength("execution_payload.transactions.?", "a byte less", "a byte more", "twice as long", "a megabyte")...)
			for _, where := range nullable {
				exceptions = append(exceptions, servetest.Exception{Where: where, What: "null", Why: whyNull})
			}
			request, err := toRequest(contents)
			if err != nil {
				t.Fatal(err)
			}
			good, err := request.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			servetest.CheckMutations(t, good, func(body []byte) error {
				_, err := DecodeSubmission(fork, JSON, body)
				return err
			}, exceptions...)
		})
	}
}

func TestMutatedRegistrations(t *testing.T) {
	text, err := newSource(1).registration().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	servetest.CheckMutations(t, []byte("["+string(text)+"]"), func(body []byte) error {
		batch, err := DecodeRegistrations(JSON, body)
		if err == nil && batch.BadCount > 0 {
			return batch.Bad[0].Err
		}
		return err
	})
}

func TestMutatedHeaderSubmissions(t *testing.T) {
	for _, fork := range eth.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			body, err := EncodeHeaderSubmission(JSON, newSource(3).headerSubmission(t, fork))
			if err != nil {
				t.Fatal(err)
			}
			servetest.CheckMutations(t, body, func(body []byte) error {
				_, err := DecodeHeaderSubmission(fork, JSON, body)
				return err
			}, append(requestExceptions(fork, ""), ofAnyLength("execution_payload_header.extra_data", "a byte less",
				"a byte more", "no bytes")...)...)
		})
	}
}

func TestMutatedBlindedBlocks(t *testing.T) {
	for _, fork := range eth.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			s := newSource(3)
			body, err := json.Marshal(s.blinded(t, s.contents(fork)))
			if err != nil {
				t.Fatal(err)
			}
			servetest.CheckMutations(t, body, func(body []byte) error {
				_, err := DecodeBlinded(fork, JSON, body)
				return err
			}, append(append(requestExceptions(fork, "message.body."),
				ofAnyLength("message.body.attestations.0.aggregation_bits", "a byte less")...),
				ofAnyLength("message.body.execution_payload_header.extra_data", "a byte less", "a byte more", "no bytes")...)...)
		})
	}
}
