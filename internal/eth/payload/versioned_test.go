package payload_test

import (
	"errors"
	"strings"
	"testing"

	builderdeneb "github.com/attestantio/go-builder-client/api/deneb"
	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/api"
	"github.com/attestantio/go-eth2-client/spec"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

type document interface{ MarshalSSZ() ([]byte, error) }

// Each fork's member is made, found again, and the only one that is not nil.
func TestEveryForkHasItsMember(t *testing.T) {
	for _, fork := range eth.Forks() {
		bid := new(builderspec.VersionedSignedBuilderBid)
		made, err := payload.MakeMember[document](bid, fork)
		if err != nil {
			t.Fatal(err)
		}
		found, err := payload.Member[document](bid)
		if err != nil || found != made || bid.Version != fork.DataVersion() || bid.IsEmpty() {
			t.Errorf("%s: got %v of version %s, %v", fork, found, bid.Version, err)
		}
		members := 0
		for _, is := range []bool{
			bid.Bellatrix != nil, bid.Capella != nil, bid.Deneb != nil, bid.Electra != nil, bid.Fulu != nil,
		} {
			if is {
				members++
			}
		}
		if members != 1 {
			t.Errorf("%s: %d members", fork, members)
		}
	}
}

func TestWhatIsNotThere(t *testing.T) {
	for _, version := range []spec.DataVersion{spec.DataVersionUnknown, spec.DataVersionPhase0, 99} {
		_, err := payload.Member[document](&builderspec.VersionedSignedBuilderBid{Version: version})
		if !errors.Is(err, eth.ErrFork) {
			t.Errorf("version %d: %v", version, err)
		}
	}
	block := &api.VersionedSignedBlindedBeaconBlock{Version: spec.DataVersionFulu}
	if _, err := payload.Member[document](block); err == nil || errors.Is(err, eth.ErrFork) {
		t.Errorf("a missing member: %v", err)
	}
	if _, err := payload.MakeMember[document](block, 0); !errors.Is(err, eth.ErrFork) {
		t.Errorf("no fork: %v", err)
	}
	if _, err := payload.MakeMember[interface{ Fly() }](block, eth.Fulu); err == nil ||
		!strings.Contains(err.Error(), "is no") {
		t.Errorf("a member that cannot do what is wanted: %v", err)
	}
}

func TestSetWantsTheMembersType(t *testing.T) {
	bid := new(builderspec.VersionedSignedBuilderBid)
	member := new(builderelectra.SignedBuilderBid)
	if err := payload.SetMember(bid, eth.Fulu, member); err != nil || bid.Fulu != member ||
		bid.Version != spec.DataVersionFulu {
		t.Errorf("got %v, %v", bid.Fulu, err)
	}
	if err := payload.SetMember(bid, eth.Fulu, new(builderdeneb.SignedBuilderBid)); err == nil || bid.Fulu != member {
		t.Errorf("a member of another fork: %v", err)
	}
}
