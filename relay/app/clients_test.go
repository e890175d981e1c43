package app_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	builderclient "github.com/attestantio/go-builder-client"
	builderapi "github.com/attestantio/go-builder-client/api"
	builderhttp "github.com/attestantio/go-builder-client/http"
	"github.com/attestantio/go-eth2-client/api"
	blinddeneb "github.com/attestantio/go-eth2-client/api/v1/deneb"
	blindelectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

// The real mev-boost between proposer and relay: what it is told reaches the relay, what it answers
// is the relay's, and what the proposer signs becomes the head, by both paths.
func TestMevBoost(t *testing.T) {
	program := mevBoost(t)
	for _, fork := range []eth.Fork{eth.Electra, eth.Fulu} {
		t.Run(fork.String(), func(t *testing.T) {
			t.Parallel()
			h := newRelay(t, fork, relayOptions{})
			boost := *h // the same network, with mev-boost for a relay
			boost.relayURL = h.startMevBoost(t, program)

			r := h.registration(first(h.duty(h.slot)))
			r.Message.GasLimit++
			_, key := h.duty(h.slot)
			h.signRegistration(r, key)
			boost.register(t, r).wantStatus(t, http.StatusOK)
			if got := h.registered(t).Message.GasLimit; got != r.Message.GasLimit {
				t.Errorf("the relay has a gas limit of %d, want %d", got, r.Message.GasLimit)
			}

			for _, path := range []string{v2Path, v1Path} {
				s := h.good(t)
				if path == v2Path { // built for the registered limit, which the block may move to
					args := h.args(t)
					args.GasLimitTarget = r.Message.GasLimit
					s = h.build(t, args)
				}
				h.submitted(t, s)
				h.into(0)
				boost.wantTop(t, s)
				b := h.blind(t, boost.header(t))
				got := boost.reveal(t, path, b)
				h.wantRevealed(t, path, withVersion(got, fork), s)
				if head := h.beacon.Head(); head.BlockHash != s.payload.BlockHash {
					t.Fatalf("%s: the head is slot %d", path, head.Slot)
				}
				h.slot++
				h.await(t)
				boost.slot, boost.attributes = h.slot, h.attributes
			}
		})
	}
}

// first is the validator of a duty.
func first[A, B any](a A, _ B) A { return a }

// withVersion adds the version header, which mev-boost leaves out of answers in JSON.
func withVersion(a answer, fork eth.Fork) answer {
	if a.header.Get("Eth-Consensus-Version") == "" {
		a.header = a.header.Clone()
		a.header.Set("Eth-Consensus-Version", fork.String())
	}
	return a
}

// mevBoost builds the real mev-boost, or finds it built: the go command looks whether the program
// is of this version.
func mevBoost(t *testing.T) string {
	t.Helper()
	module, err := filepath.Abs("../../tools/mevboost")
	must(t, err)
	mod, err := os.ReadFile(filepath.Join(module, "go.mod"))
	must(t, err)
	version := regexp.MustCompile(`flashbots/mev-boost (v\S+)`).FindSubmatch(mod)
	if version == nil {
		t.Fatal("the module of mev-boost names no version")
	}
	program := filepath.Join(module, "../../bin/mev-boost-"+string(version[1]))
	command := exec.CommandContext(t.Context(), "go", "build", "-C", module, "-o", program,
		"github.com/flashbots/mev-boost")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build mev-boost: %v\n%s", err, out)
	}
	return program
}

// startMevBoost runs it before the relay and returns its URL. It knows only the wall clock, so it
// is told another genesis: all slots of this test began a short while ago, and none is too late.
func (h *relayUnderTest) startMevBoost(t *testing.T, program string) string {
	t.Helper()
	listener := listen(t)
	address := listener.Addr().String()
	must(t, listener.Close())
	config := filepath.Join(t.TempDir(), "mev-boost.yaml")
	relayPubkey := relayKey.PublicKey()
	relayAddress := strings.Replace(h.relayURL, "//", fmt.Sprintf("//%#x@", relayPubkey[:]), 1)
	must(t, os.WriteFile(config, fmt.Appendf(nil, "timeout_get_header_ms: 60000\nlate_in_slot_time_ms: "+
		"3600000\nrelays:\n  - url: %s\n", relayAddress), 0o600))
	const slots = 10
	genesis := time.Now().Add(-slots * h.spec.SlotDuration).Unix()
	var log bytes.Buffer
	command := exec.Command(program, "--addr", address, "--config", config, "--relay-check",
		"--genesis-fork-version", fmt.Sprintf("%#x", h.spec.GenesisForkVersion[:]), "--genesis-timestamp",
		strconv.FormatInt(genesis, 10))
	command.Stderr = &log
	must(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill() // it may have ended by itself
		_ = command.Wait()         // killed
		if t.Failed() {
			t.Log(log.String())
		}
	})
	url := "http://" + address
	poll(t, "mev-boost answers", func() bool {
		response, err := http.Get(url + "/eth/v1/builder/status")
		if err != nil {
			return false
		}
		return response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
	return url
}

// silent is the log level at which the library says nothing.
const silent = 7

// The Go library that validators use speaks to the relay by itself: registers, gets a bid, and
// unblinds its proposal.
func TestGoBuilderClient(t *testing.T) {
	for _, fork := range []eth.Fork{eth.Deneb, eth.Electra, eth.Fulu} {
		t.Run(fork.String(), func(t *testing.T) {
			t.Parallel()
			h := newRelay(t, fork, relayOptions{})
			pubkey := relayKey.PublicKey()
			service, err := builderhttp.New(t.Context(), builderhttp.WithLogLevel(silent), builderhttp.WithTimeout(time.Minute),
				builderhttp.WithAddress(strings.Replace(h.relayURL, "//", fmt.Sprintf("//%#x@", pubkey[:]), 1)))
			must(t, err)
			h.registerBy(t, service)

			s := h.good(t)
			h.submitted(t, s)
			h.into(0)
			_, proposer := h.duty(h.slot)
			bid, err := service.(builderclient.BuilderBidProvider).BuilderBid(t.Context(), &builderapi.BuilderBidOpts{
				Slot: h.slot, ParentHash: h.attributes.ParentHash, PubKey: proposer.PublicKey(),
			})
			must(t, err)
			hash, err := bid.Data.BlockHash()
			must(t, err)
			value, err := bid.Data.Value()
			must(t, err)
			if hash != s.payload.BlockHash || !value.Eq(s.trace.Value) {
				t.Errorf("a bid of %s wei for %#x", value.Dec(), hash[:])
			}

			b := h.blind(t, h.header(t))
			proposal, err := service.(builderclient.UnblindedProposalProvider).UnblindProposal(t.Context(),
				&builderapi.UnblindProposalOpts{
					Proposal: b.versioned(t),
				})
			must(t, err)
			got, err := proposal.Data.ExecutionBlockHash()
			must(t, err)
			if got != s.payload.BlockHash || h.beacon.Head().BlockHash != got {
				t.Errorf("unblinded is %#x", got[:])
			}
			var blobs int
			switch fork {
			case eth.Deneb:
				blobs = len(proposal.Data.Deneb.Blobs)
			case eth.Electra:
				blobs = len(proposal.Data.Electra.Blobs)
			case eth.Fulu:
				blobs = len(proposal.Data.Fulu.Blobs)
			}
			if blobs != len(s.blobs.Blobs) {
				t.Errorf("%d blobs, want %d", blobs, len(s.blobs.Blobs))
			}
		})
	}
}

// registerBy registers all validators anew through the library, which sends them in JSON.
func (h *relayUnderTest) registerBy(t *testing.T, service builderclient.Service) {
	t.Helper()
	var list []*builderapi.VersionedSignedValidatorRegistration
	for i := range phase0.ValidatorIndex(validatorCount) {
		r := h.registration(i)
		list = append(list, &builderapi.VersionedSignedValidatorRegistration{V1: r})
	}
	must(t, service.(builderclient.ValidatorRegistrationsSubmitter).SubmitValidatorRegistrations(t.Context(),
		&builderapi.SubmitValidatorRegistrationsOpts{
			Registrations: list,
		}))
	without, _ := h.duty(unregisteredSlot)
	got := h.get(t, "/relay/v1/builder/validators", nil)
	if !strings.Contains(string(got.body), fmt.Sprintf(`"validator_index":"%d"`, without)) {
		t.Error("the validator that had not registered is not listed")
	}
}

// versioned is the signed block in the library's type.
func (b *blinded) versioned(t testing.TB) *api.VersionedSignedBlindedProposal {
	t.Helper()
	block := &api.VersionedSignedBlindedProposal{Version: b.fork.DataVersion()}
	switch signed := b.decoded(t).(type) {
	case *blinddeneb.SignedBlindedBeaconBlock:
		block.Deneb = signed
	case *blindelectra.SignedBlindedBeaconBlock:
		if b.fork == eth.Electra {
			block.Electra = signed
		} else {
			block.Fulu = signed
		}
	default:
		t.Fatalf("%T", signed)
	}
	return block
}
