package api

import (
	"testing"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

const submitHeaderPath = "POST /relay/v1/builder/headers"

func headerBody(t *testing.T, media wire.Media) []byte {
	t.Helper()
	raw, err := wire.EncodeHeaderSubmission(media, &relay.HeaderSubmission{
		Fork: eth.Fulu, Trace: &relay.BidTrace{Slot: 65, Value: uint256.NewInt(9), BlockHash: phase0.Hash32{0xee}},
		Header:      &payload.Header{BlockHash: phase0.Hash32{0xee}, BaseFeePerGas: uint256.NewInt(7)},
		Commitments: []deneb.KZGCommitment{{1}},
		Requests:    payload.EmptyRequests(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestSubmitHeader(t *testing.T) {
	for media, contentType := range map[wire.Media]string{wire.JSON: "application/json",
		wire.SSZ: "application/octet-stream"} {
		d := &builderFakePorts{outcome: relay.Outcome{}}
		headers := "Content-Type: " + contentType + "\nX-Api-Key: alpha's\nX-Sequence: 4"
		answer := askHandler(t, d.handler(), submitHeaderPath+"?cancellations=1", headers, headerBody(t, media))
		if answer.Code != 200 || len(d.headers) != 1 {
			t.Fatalf("%s: %d %s", contentType, answer.Code, answer.Body)
		}
		h := d.headers[0]
		if h.Fork != eth.Fulu || h.Trace.Slot != 65 || len(h.Commitments) != 1 || !h.ReceivedAt.Equal(now) ||
			!h.Cancellable || h.Sequence != 4 {
			t.Errorf("%s: %+v", contentType, h)
		}
	}
}

func TestSubmitHeaderRefuses(t *testing.T) {
	body := headerBody(t, wire.SSZ)
	for name, row := range map[string]struct {
		headers string
		body    []byte
		want    relay.Refusal
	}{
		"without an API key": {isSSZ, body, relay.APIKeyNeeded},
		"an unknown API key": {isSSZ + "X-Api-Key: x", body, relay.APIKeyUnknown},
		"another builder's":  {isSSZ + "X-Api-Key: beta's", body, relay.APIKeyOtherBuilder},
		"a slot of another fork": {isSSZ + "X-Api-Key: alpha's\nEth-Consensus-Version: deneb", body,
			relay.WrongFork},
		"a body that is cut short": {isSSZ + "X-Api-Key: alpha's", body[:len(body)-1], relay.Malformed},
		"nothing":                  {isSSZ + "X-Api-Key: alpha's", nil, relay.Malformed},
		"no sequence":              {isSSZ + "X-Api-Key: alpha's\nX-Sequence: -1", body, relay.SubmissionSequence},
		"another content type":     {"Content-Type: text/plain\nX-Api-Key: alpha's", body, relay.UnsupportedMediaType},
	} {
		t.Run(name, func(t *testing.T) {
			d := new(builderFakePorts)
			wantRefusal(t, askHandler(t, d.handler(), submitHeaderPath, row.headers, row.body), row.want)
			if len(d.headers) != 0 {
				t.Error("taken all the same")
			}
		})
	}
}
