package beacon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	eth2client "github.com/attestantio/go-eth2-client"
	"github.com/attestantio/go-eth2-client/api"
	apiv1 "github.com/attestantio/go-eth2-client/api/v1"
	apifulu "github.com/attestantio/go-eth2-client/api/v1/fulu"
	eth2http "github.com/attestantio/go-eth2-client/http"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// frozen is a clock that a test turns by hand. Nothing that is tested with it waits.
type frozen struct{ now time.Time }

func (f *frozen) Now() time.Time { return f.now }

func (f *frozen) Until(ctx context.Context, _ time.Time) error {
	<-ctx.Done()
	return ctx.Err()
}

// network is a beacon node over HTTP on a real chain, with a clock to turn.
type network struct {
	t      *testing.T
	beacon *Beacon
	clock  *frozen
	spec   *eth.Spec
	url    string
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	return newNetworkIn(t, eth.Fulu)
}

// newNetworkIn is a network that is in a fork from genesis on.
func newNetworkIn(t *testing.T, fork eth.Fork) *network {
	t.Helper()
	spec := &eth.Spec{
		GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 4,
		GenesisForkVersion:    phase0.Version{1, 'g', 'v', 'l'},
		GenesisValidatorsRoot: GenesisValidatorsRoot(8),
		Forks:                 []eth.ForkPoint{{Fork: fork, Version: phase0.Version{6, 'g', 'v', 'l'}}},
	}
	node, err := chain.Open(chain.Config{Spec: spec, ChainID: 77})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
	})
	n := &network{t: t, clock: &frozen{spec.GenesisTime}, spec: spec}
	n.beacon, err = New(Config{
		Spec: spec, Clock: n.clock, Validators: 8, Seed: 1, Execution: node,
		GenesisHash: phase0.Hash32(node.Genesis().Hash()), Builders: stakedForTests(),
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(n.beacon.Handler())
	t.Cleanup(server.Close)
	n.url = server.URL
	return n
}

// begin starts a slot.
func (n *network) begin(slot phase0.Slot) {
	n.clock.now = n.spec.SlotStart(slot)
	n.beacon.beginSlot(slot)
}

// local fetches a block as a validator does.
func (n *network) local(slot phase0.Slot) *apifulu.BlockContents {
	n.t.Helper()
	index, _ := n.beacon.Duty(slot)
	epoch := n.spec.EpochOf(slot)
	reveal := n.beacon.ValidatorKey(index).Sign(eth.SigningRoot(epochRoot(epoch), n.spec.RandaoDomain(epoch)))
	request, err := http.NewRequest(http.MethodGet, fmt.Sprintf("%s/eth/v3/validator/blocks/%d?randao_reveal=%#x", n.url,
		slot, reveal[:]), http.NoBody)
	if err != nil {
		n.t.Fatal(err)
	}
	request.Header.Set("Accept", "application/octet-stream")
	status, raw := n.do(request)
	contents := new(apifulu.BlockContents)
	if status != http.StatusOK || contents.UnmarshalSSZ(raw) != nil {
		n.t.Fatalf("status %d: %.200s", status, raw)
	}
	return contents
}

func (n *network) do(request *http.Request) (int, []byte) {
	n.t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		n.t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return response.StatusCode, raw
}

// publish signs a block with its proposer's key and hands it over; asJSON picks the encoding.
func (n *network) publish(contents *apifulu.BlockContents, asJSON bool) (int, string) {
	n.t.Helper()
	root, err := contents.Block.HashTreeRoot()
	if err != nil {
		n.t.Fatal(err)
	}
	index, _ := n.beacon.Duty(contents.Block.Slot)
	return n.publishSigned(contents,
		n.beacon.ValidatorKey(index).Sign(eth.SigningRoot(root, n.spec.ProposerDomain(contents.Block.Slot))), asJSON)
}

func (n *network) publishSigned(contents *apifulu.BlockContents, signature phase0.BLSSignature,
	asJSON bool) (int, string) {
	n.t.Helper()
	signed := &apifulu.SignedBlockContents{
		SignedBlock: &electra.SignedBeaconBlock{Message: contents.Block, Signature: signature}, KZGProofs: contents.KZGProofs,
		Blobs: contents.Blobs,
	}
	marshal, contentType := signed.MarshalSSZ, mediaSSZ
	if asJSON {
		marshal, contentType = signed.MarshalJSON, mediaJSON
	}
	body, err := marshal()
	if err != nil {
		n.t.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodPost, n.url+
		"/eth/v2/beacon/blocks?broadcast_validation=consensus_and_equivocation", bytes.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set(versionHeader, "fulu")
	status, raw := n.do(request)
	return status, string(raw)
}

func TestPublishedBlocksBecomeTheChain(t *testing.T) {
	n := newNetwork(t)
	for slot := phase0.Slot(1); slot <= 5; slot++ {
		n.begin(slot)
		contents := n.local(slot)
		if status, body := n.publish(contents, slot%2 == 0); status != http.StatusOK {
			t.Fatalf("slot %d: %d %s", slot, status, body)
		}
		if status, body := n.publish(contents, false); status != http.StatusOK {
			t.Errorf("slot %d, again: %d %s", slot, status, body)
		}
		head := n.beacon.Head()
		if head.Slot != slot || head.BlockNumber != uint64(slot) || head.Late {
			t.Errorf("head %+v", head)
		}
	}
}

// What breaks a rule of consensus is answered 400 and changes nothing. Each row bends a good block
// of slot 1 before it is signed.
func TestBentBlocksAreRefused(t *testing.T) {
	for name, bend := range map[string]func(*apifulu.BlockContents){
		"other proposer": func(c *apifulu.BlockContents) { c.Block.ProposerIndex++ },
		"unknown parent": func(c *apifulu.BlockContents) { c.Block.ParentRoot[0] ^= 1 },
		"state root":     func(c *apifulu.BlockContents) { c.Block.StateRoot[0] ^= 1 },
		"randao reveal":  func(c *apifulu.BlockContents) { c.Block.Body.RANDAOReveal[5] ^= 1 },
		"prev_randao":    func(c *apifulu.BlockContents) { c.Block.Body.ExecutionPayload.PrevRandao[0] ^= 1 },
		"timestamp":      func(c *apifulu.BlockContents) { c.Block.Body.ExecutionPayload.Timestamp++ },
		"withdrawals":    func(c *apifulu.BlockContents) { c.Block.Body.ExecutionPayload.Withdrawals[0].Amount++ },
		"block hash":     func(c *apifulu.BlockContents) { c.Block.Body.ExecutionPayload.BlockHash[0] ^= 1 },
		"a future slot":  func(c *apifulu.BlockContents) { c.Block.Slot += 8 },
		"a missing blob": func(c *apifulu.BlockContents) {
			c.Block.Body.BlobKZGCommitments = append(c.Block.Body.BlobKZGCommitments, [48]byte{0xc0})
		},
		"an invalid root": func(c *apifulu.BlockContents) { c.Block.Body.ExecutionPayload.StateRoot[0] ^= 1 },
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			n.begin(1)
			contents := n.local(1)
			bend(contents)
			if status, body := n.publish(contents, false); status != http.StatusBadRequest ||
				!strings.Contains(body, `"message"`) {
				t.Errorf("%d %s", status, body)
			}
			if n.beacon.Head().Slot != 0 {
				t.Error("the head moved")
			}
		})
	}
	n := newNetwork(t)
	n.begin(1)
	if status, _ := n.publishSigned(n.local(1), phase0.BLSSignature{0xc0}, false); status != http.StatusBadRequest {
		t.Errorf("a block without a signature: %d", status)
	}
}

func TestEquivocationIsRefused(t *testing.T) {
	n := newNetwork(t)
	n.begin(1)
	first, second := n.local(1), n.local(1)
	second.Block.Body.Graffiti[0] = 1
	if status, body := n.publish(first, false); status != http.StatusOK {
		t.Fatal(status, body)
	}
	if status, body := n.publish(second, false); status != http.StatusBadRequest ||
		!strings.Contains(body, "another block") {
		t.Errorf("%d %s", status, body)
	}
}

// A node may refuse a block for the reason that it has it already; whoever asks for its root learns
// that.
func TestKnownBlockMayBeRefused(t *testing.T) {
	n := newNetwork(t)
	n.beacon.cfg.RefusesKnown = func(slot phase0.Slot) bool { return slot == 1 }
	n.begin(1)
	contents := n.local(1)
	if status, body := n.publish(contents, false); status != http.StatusOK {
		t.Fatal(status, body)
	}
	if status, body := n.publish(contents, false); status != http.StatusBadRequest ||
		!strings.Contains(body, "block for slot 1 already exists in fork choice") {
		t.Errorf("%d %s", status, body)
	}
	root := n.beacon.Head().Root
	request, err := http.NewRequest(http.MethodGet, fmt.Sprintf("%s/eth/v1/beacon/headers/%#x", n.url, root[:]),
		http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if status, body := n.do(request); status != http.StatusOK ||
		!strings.Contains(string(body), fmt.Sprintf(`"root":"%#x"`, root[:])) {
		t.Errorf("%d %s", status, body)
	}
}

// A block that comes after the deadline is orphaned by the next proposer: a re-organisation of one
// block, in the execution node too.
func TestLateBlockIsOrphanedByTheNext(t *testing.T) {
	n := newNetwork(t)
	n.begin(1)
	if status, body := n.publish(n.local(1), false); status != http.StatusOK {
		t.Fatal(status, body)
	}
	n.beacon.choice.attest(1)
	n.begin(2)
	n.beacon.choice.attest(2)
	n.clock.now = n.clock.now.Add(5 * time.Second)
	if status, body := n.publish(n.local(2), false); status != http.StatusOK {
		t.Fatal(status, body)
	}
	late := n.beacon.Head()
	if late.Slot != 2 || !late.Late {
		t.Fatalf("head %+v", late)
	}
	n.begin(3)
	contents := n.local(3)
	if contents.Block.Body.ExecutionPayload.ParentHash == late.BlockHash {
		t.Error("the next proposer builds on the late block")
	}
	if status, body := n.publish(contents, false); status != http.StatusOK {
		t.Fatal(status, body)
	}
	if _, canonical := n.beacon.Canonical(2); canonical || n.beacon.Head().Slot != 3 {
		t.Error("the late block is still on the chain")
	}
}

// go-eth2-client is what relays and validators use: it must connect and understand every answer.
func TestRealClient(t *testing.T) {
	n := newNetwork(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	service, err := eth2http.New(ctx, eth2http.WithAddress(n.url), eth2http.WithTimeout(5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	n.begin(1)
	if status, body := n.publish(n.local(1), false); status != http.StatusOK {
		t.Fatal(status, body)
	}

	genesis, err := service.(eth2client.GenesisProvider).Genesis(ctx, &api.GenesisOpts{})
	if err != nil || !genesis.Data.GenesisTime.Equal(n.spec.GenesisTime) ||
		genesis.Data.GenesisValidatorsRoot != n.spec.GenesisValidatorsRoot {
		t.Errorf("genesis %+v, %v", genesis, err)
	}
	spec, err := service.(eth2client.SpecProvider).Spec(ctx, &api.SpecOpts{})
	if err != nil || spec.Data["SLOTS_PER_EPOCH"] != uint64(4) || spec.Data["SECONDS_PER_SLOT"] != 12*time.Second {
		t.Errorf("spec %v, %v", spec, err)
	}
	forks, err := service.(eth2client.ForkScheduleProvider).ForkSchedule(ctx, &api.ForkScheduleOpts{})
	if err != nil || len(forks.Data) != 7 || forks.Data[6].CurrentVersion != n.spec.Forks[0].Version {
		t.Errorf("fork schedule %v, %v", forks, err)
	}
	header, err := service.(eth2client.BeaconBlockHeadersProvider).BeaconBlockHeader(ctx,
		&api.BeaconBlockHeaderOpts{Block: "head"})
	if err != nil || header.Data.Header.Message.Slot != 1 || header.Data.Root != n.beacon.Head().Root {
		t.Errorf("header %v, %v", header, err)
	} else if root, err := header.Data.Header.Message.HashTreeRoot(); err != nil || root != [32]byte(header.Data.Root) {
		t.Errorf("the header hashes to %#x, not to its root", root)
	}
	duties, err := service.(eth2client.ProposerDutiesProvider).ProposerDuties(ctx, &api.ProposerDutiesOpts{Epoch: 0})
	if err != nil || len(duties.Data) != 4 {
		t.Errorf("duties %v, %v", duties, err)
	}
	validators, err := service.(eth2client.ValidatorsProvider).Validators(ctx,
		&api.ValidatorsOpts{State: "head", Indices: []phase0.ValidatorIndex{0, 7}})
	if err != nil || len(validators.Data) != 2 ||
		validators.Data[7].Validator.PublicKey != n.beacon.ValidatorKey(7).PublicKey() {
		t.Errorf("validators %v, %v", validators, err)
	}
	block, err := service.(eth2client.SignedBeaconBlockProvider).SignedBeaconBlock(ctx,
		&api.SignedBeaconBlockOpts{Block: "head"})
	if err != nil {
		t.Errorf("block: %v", err)
	} else if root, err := block.Data.Root(); err != nil || root != n.beacon.Head().Root {
		t.Errorf("block root %#x, %v", root, err)
	}
	events := make(chan *apiv1.Event, 8)
	if err := service.(eth2client.EventsProvider).Events(ctx, &api.EventsOpts{
		Topics: []string{"head", "payload_attributes"}, Handler: func(e *apiv1.Event) { events <- e },
	}); err != nil {
		t.Fatal(err)
	}
	if e := <-events; e.Topic != "payload_attributes" || e.Data.(*apiv1.PayloadAttributesEvent).Data.ProposalSlot != 2 {
		t.Errorf("event %+v, want the attributes of slot 2", e)
	}
	n.begin(2)
	if status, body := n.publish(n.local(2), false); status != http.StatusOK {
		t.Fatal(status, body)
	}
	if e := <-events; e.Topic != "head" || e.Data.(*apiv1.HeadEvent).Slot != 2 {
		t.Errorf("event %+v, want the head of slot 2", e)
	}
}

// What our own decoder and other clients read, byte by byte where it matters.
func TestSSZTables(t *testing.T) {
	n := newNetwork(t)
	request, err := http.NewRequest(http.MethodPost, n.url+"/eth/v1/beacon/states/head/validator_identities",
		strings.NewReader("[]"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", mediaJSON)
	request.Header.Set("Accept", mediaSSZ)
	status, raw := n.do(request)
	key := n.beacon.ValidatorKey(1).PublicKey()
	if status != http.StatusOK || len(raw) != 8*64 || raw[64] != 1 || !bytes.Equal(raw[72:120], key[:]) {
		t.Errorf("identities: %d, %d bytes", status, len(raw))
	}
	request, err = http.NewRequest(http.MethodGet, n.url+"/eth/v1/beacon/states/head/proposer_lookahead", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	status, raw = n.do(request)
	var lookahead struct{ Data []string }
	if err := json.Unmarshal(raw, &lookahead); status != http.StatusOK || err != nil || len(lookahead.Data) != 8 {
		t.Errorf("lookahead: %d %s", status, raw)
	}
	index, _ := n.beacon.Duty(5)
	if lookahead.Data[5] != fmt.Sprint(index) {
		t.Error("lookahead and duties differ")
	}
}

// faulty is an execution node that cannot say anything: a fault that the real one does not show on
// command.
type faulty struct{ Execution }

func (faulty) Import(context.Context, eth.Fork, *payload.Payload, []deneb.KZGCommitment, phase0.Root,
	*electra.ExecutionRequests) error {
	return errors.New("the database is gone")
}

// Rules kept, but nobody can execute it: 202, as a node that spreads a block without importing it.
func TestExecutionNodeThatIsDown(t *testing.T) {
	n := newNetwork(t)
	n.begin(1)
	contents := n.local(1)
	n.beacon.cfg.Execution = faulty{n.beacon.cfg.Execution}
	if status, body := n.publish(contents, false); status != http.StatusAccepted || body != "" {
		t.Errorf("%d %s", status, body)
	}
}
