package builder

import (
	"fmt"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// describeForm adds specs about what a request with a submission looks like, and who has signed it.
func describeForm(s *suite.Set) {
	s.Slow("BLD-SUB-01", "bids in each slot of a registered proposer", func(t *suite.T) {
		a := t.Auctions
		defer a.Watch()()
		// three slots are enough: in any of them a builder has a whole slot's time
		for range watchedSlots {
			slot, err := a.Claim(t)
			t.Ready(err, "wait for a slot of a registered proposer")
			waitSlotOver(t, slot)
			count := 0
			for _, relay := range a.All {
				count += len(a.For(relay, slot))
			}
			t.Check(count > 0, fmt.Sprintf("a submission for slot %d, whose proposer is registered", slot), "none")
		}
	})
	judgeEach(s, "BLD-SUB-02", "names an encoding of relay-specs", func(_ *suite.T, s *scripted.Submission) *finding {
		if s.Media == jsonType || s.Media == sszType {
			return nil
		}
		return &finding{"content type " + jsonType + " or " + sszType, fmt.Sprintf("%q", s.Header.Get("Content-Type"))}
	})
	s.Slow("BLD-SUB-03", "sends what its content type says", func(t *suite.T) {
		unpacked := slices.DeleteFunc(watch(t), func(s *scripted.Submission) bool { return s.Unpacking != nil })
		if len(unpacked) == 0 {
			t.Inconclusive("the builder has submitted nothing that can be unpacked")
		}
		for _, one := range unpacked {
			if one.Block == nil {
				judge(t, one, &finding{"a submission in the encoding that Content-Type names", fmt.Sprintf("%.300v", one.Problem)})
			}
		}
	})
	judgeEach(s, "BLD-SUB-04", "packs bodies as it says, by gzip or not at all", func(_ *suite.T,
		s *scripted.Submission) *finding {
		if s.Unpacking == nil {
			return nil
		}
		return &finding{"a body that is packed as Content-Encoding says", s.Unpacking.Error()}
	})
	judgeEach(s, "BLD-SUB-05", "names the fork of the slot", func(t *suite.T, s *scripted.Submission) *finding {
		if name := s.Header.Get(versionHeader); name != "" {
			return compareField(versionHeader, t.Auctions.Fork.String(), name)
		}
		return nil
	})
	judgeContent(s, "BLD-SUB-06", "has the form of the slot's fork", func(t *suite.T, s *scripted.Submission) *finding {
		return compareField("the form of", t.Auctions.Fork, s.Fork)
	})
	judgeContent(s, "BLD-SUB-07", "signs the message with the key that it names", func(t *suite.T,
		s *scripted.Submission) *finding {
		for _, domain := range domains(t.Auctions) {
			if verify(s, domain) == nil {
				return nil
			}
		}
		return &finding{"a signature of builder_pubkey over the message",
			fmt.Sprint(verify(s, t.Auctions.Network.BuilderDomain()))}
	})
	judgeContent(s, "BLD-SUB-08", "signs for this network, under the builder domain", func(t *suite.T,
		s *scripted.Submission) *finding {
		list := domains(t.Auctions)
		for _, domain := range list[1:] {
			if verify(s, list[0]) != nil && verify(s, domain) == nil {
				return &finding{fmt.Sprintf("a signature under the domain %#x", list[0][:]),
					fmt.Sprintf("one under %#x", domain[:])}
			}
		}
		return nil
	})
}

// domains are those under which a submission may be signed, the right one first: then the builder
// domains of public networks, that of the network with the validators' root, and the domain of
// proposals.
func domains(a *scripted.Auctions) []phase0.Domain {
	f := a.World.Facts
	version, root := a.Network.GenesisForkVersion, phase0.Root{}
	copy(root[:], fromHex(f.GenesisValidatorsRoot))
	var current phase0.Version
	copy(current[:], fromHex(f.ForkVersion))
	list := []phase0.Domain{a.Network.BuilderDomain(), probe.Domain(probe.DomainBuilder, version, root),
		probe.Domain(probe.DomainBuilder, current, root), probe.Domain(probe.DomainBuilder, current, phase0.Root{}),
		probe.Domain(probe.DomainProposer, current, root)}
	for _, public := range []phase0.Version{{}, {0x90, 0, 0, 0x69}, {0x01, 0x01, 0x70, 0}, {0x10, 0, 0x09, 0x10}} {
		list = append(list, probe.Domain(probe.DomainBuilder, public, phase0.Root{})) // mainnet, Sepolia, Holesky, Hoodi
	}
	return list
}

// verify returns why a submission is not signed under a domain.
func verify(s *scripted.Submission, domain phase0.Domain) error {
	root, err := s.Block.Message.HashTreeRoot()
	if err != nil {
		return fmt.Errorf("hash a message: %w", err)
	}
	return probe.VerifyBLS(s.Block.Message.BuilderPubkey, probe.SigningRoot(root, domain), s.Block.Signature)
}
