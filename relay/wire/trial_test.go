package wire

import (
	"errors"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/chain/chaintest"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// Whatever is read or written in a fork that has a row, but no form here, is refused by name, and
// nothing of the body is looked at.
func TestTrialForkIsRefused(t *testing.T) {
	contents := newSource(1).contents(eth.Fulu)
	request, err := toRequest(contents)
	if err != nil {
		t.Fatal(err)
	}
	trial := chaintest.TrialFork(t)
	if Serves(trial) || !Serves(eth.Fulu) {
		t.Error("the trial fork is served, or fulu is not")
	}
	for _, media := range []Media{JSON, SSZ} {
		body, err := encode(media, request)
		if err != nil {
			t.Fatal(err)
		}
		for name, decode := range map[string]func() error{
			"submission":        func() error { _, err := DecodeSubmission(trial, media, body); return err },
			"header submission": func() error { _, err := DecodeHeaderSubmission(trial, media, body); return err },
			"blinded block":     func() error { _, err := DecodeBlinded(trial, media, body); return err },
			"nothing":           func() error { _, err := DecodeBlinded(trial, media, []byte("{}")); return err },
			"sent submission": func() error {
				_, err := EncodeSubmission(media, &relay.Submission{Fork: trial, Trace: contents.Trace, Payload: contents.Payload})
				return err
			},
			"sent header submission": func() error {
				_, err := EncodeHeaderSubmission(media, &relay.HeaderSubmission{Fork: trial})
				return err
			},
			"payload": func() error {
				_, err := EncodePayload(media, &relay.Contents{Fork: trial, Payload: contents.Payload})
				return err
			},
			"escrow": func() error {
				_, err := EncodeContents(&relay.Contents{Fork: trial, Payload: contents.Payload})
				return err
			},
			"from escrow": func() error { _, err := DecodeContents([]byte{1, 2, byte(trial), contentsVersion}); return err },
			"unblinding": func() error {
				_, err := Unblind(&relay.BlindedBlock{Fork: trial}, &relay.Contents{Fork: trial})
				return err
			},
			"bid": func() error {
				header, err := payload.HeaderOf(eth.Fulu, contents.Payload)
				if err != nil {
					return err
				}
				_, _, err = SignBid(Bid{Fork: trial, Header: header, ValueWei: contents.Trace.Value}, bls.Derive("trial", 1),
					phase0.Domain{})
				return err
			},
		} {
			if err := decode(); !errors.Is(err, eth.ErrFork) {
				t.Errorf("%s in %s: %v", name, media.ContentType(), err)
			}
		}
	}
}
