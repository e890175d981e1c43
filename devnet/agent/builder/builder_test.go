package builder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/chain/chaintest"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay/client"
)

// pool is a real execution node with a scripted pool.
type pool struct {
	*chain.Node
	pending []*types.Transaction
}

func (p *pool) Pending() []*types.Transaction { return p.pending }

func specOf(fork eth.Fork) *eth.Spec {
	return &eth.Spec{
		GenesisTime: time.Unix(1_700_000_000, 0), GenesisForkVersion: phase0.Version{9}, SlotDuration: 12 * time.Second,
		SlotsPerEpoch: 4,
		Forks:         []eth.ForkPoint{{Fork: fork, Version: phase0.Version{9, byte(fork)}}},
	}
}

// opened is a chain on which the builder's wallet and ten users have money; from deneb on one of
// the users pays for a blob.
func opened(t *testing.T, spec *eth.Spec) *pool {
	t.Helper()
	node := chaintest.OpenChain(t, spec)
	p := &pool{Node: node, pending: transfers(t, 10, 2)}
	if fork := spec.ForkAt(0); fork >= eth.Deneb {
		sidecar := chain.Sidecar(fork, 0)
		tx, err := types.SignNewTx(chaintest.Wallet("blobs", 0), chaintest.Signer(),
			&types.BlobTx{
				ChainID: uint256.NewInt(chaintest.ChainID), GasTipCap: uint256.NewInt(params.GWei),
				GasFeeCap: uint256.NewInt(100 * params.GWei),
				Gas:       params.TxGas, BlobFeeCap: uint256.NewInt(params.GWei), BlobHashes: sidecar.BlobHashes(),
				Sidecar: sidecar,
			})
		if err != nil {
			t.Fatal(err)
		}
		p.pending = append(p.pending, tx)
	}
	return p
}

var feeRecipient = bellatrix.ExecutionAddress{0xfe, 0xe0}

func registered(slots ...phase0.Slot) map[phase0.Slot]*builderv1.SignedValidatorRegistration {
	out := map[phase0.Slot]*builderv1.SignedValidatorRegistration{}
	for _, slot := range slots {
		out[slot] = &builderv1.SignedValidatorRegistration{Message: &builderv1.ValidatorRegistration{
			FeeRecipient: feeRecipient, GasLimit: 50_000_000, Timestamp: time.Unix(1_700_000_000, 0),
			Pubkey: phase0.BLSPubKey{byte(slot)},
		}}
	}
	return out
}

// newBuilder is a builder on a chain that bids to relays, in the slot before slot 3.
func newBuilder(spec *eth.Spec, node *pool, clients ...*client.Client) *Builder {
	var relays []Relay
	for _, c := range clients {
		relays = append(relays, Relay{Name: c.URL(), Client: c})
	}
	return New(Config{
		Name: "a builder whose name is longer than extra data", Key: bls.Derive("builder", 1),
		Wallet: chaintest.Wallet("builder",
			0), Node: node,
		Signer: chaintest.Signer(),
		Spec:   spec, Clock: clock.NewLeap(spec.SlotStart(2).Add(time.Second), spec.SlotStart(100), nil),
		Relays: relays, Seed: 5,
	})
}

func attributesFor(node *pool, slot phase0.Slot) Attributes {
	return Attributes{
		Slot: slot, ParentHash: phase0.Hash32(node.Genesis().Hash()), ParentRoot: phase0.Root{0xee},
		PrevRandao: [32]byte{0xdd},
		Withdrawals: []*capella.Withdrawal{{Index: 1, ValidatorIndex: 2, Address: bellatrix.ExecutionAddress{0x77},
			Amount: 3}},
	}
}

// In every fork a builder makes rising bids, each with a block that the chain accepts, a trace that
// tells the truth about it, and a signature under the builder domain.
func TestBids(t *testing.T) {
	for _, fork := range eth.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			spec := specOf(fork)
			node := opened(t, spec)
			r, c := newRelay(t, registered(3))
			b, a := newBuilder(spec, node, c), attributesFor(node, 3)
			var made []devnet.MadeBid
			b.Tell = func(e devnet.Event) {
				if e.Subject == devnet.BidMade {
					made = append(made, e.Fact.(devnet.MadeBid))
				}
			}
			b.auction(t.Context(), a)
			got := r.got()
			if len(got) != 3 || len(made) != 3 {
				t.Fatalf("%d bids, %d of them told, want 3", len(got), len(made))
			}
			last := new(uint256.Int)
			for i, submission := range got {
				value := wantBid(t, node, fork, a, submission, b.Spec.BuilderDomain())
				if !value.Gt(last) {
					t.Errorf("a bid of %s after %s", value, last)
				}
				last = value
				// The builder earns a Gwei for each unit of gas.
				worth := new(uint256.Int).Mul(uint256.NewInt(uint64(len(node.pending))*params.TxGas), uint256.NewInt(params.GWei))
				if one := made[i]; one.BlockHash != blockOf(submission).payload.BlockHash || !one.ValueWei.Eq(value) ||
					one.Builder != b.Key.PublicKey() || !one.WorthWei.Eq(worth) {
					t.Errorf("told of %+v, bid %s of %s", one, value, worth)
				}
			}
			if now, latest := b.Clock.Now(), spec.SlotStart(3).Add(-2*time.Second); now.After(latest) {
				t.Errorf("the last bid is made at %v, later than %v", now, latest)
			}
		})
	}
}

// wantBid checks one submission and returns its value.
func wantBid(
	t *testing.T, node *pool, fork eth.Fork, a Attributes, v *builderspec.VersionedSubmitBlockRequest,
	domain phase0.Domain,
) *uint256.Int {
	t.Helper()
	b, key := blockOf(v), bls.Derive("builder", 1).PublicKey()
	trace, err := v.BidTrace()
	if err != nil {
		t.Fatal(err)
	}
	want := builderv1.BidTrace{
		Slot: uint64(a.Slot), ParentHash: a.ParentHash, BlockHash: b.payload.BlockHash, BuilderPubkey: key,
		ProposerPubkey: phase0.BLSPubKey{byte(a.Slot)}, ProposerFeeRecipient: feeRecipient, GasLimit: b.payload.GasLimit,
		GasUsed: b.payload.GasUsed, Value: trace.Value,
	}
	if trace.String() != want.String() {
		t.Errorf("trace %s\nwant %s", trace, &want)
	}
	root, err := trace.HashTreeRoot()
	if err != nil {
		t.Fatal(err)
	}
	signature, err := v.Signature()
	if err != nil {
		t.Fatal(err)
	}
	if err := bls.Verify(key, eth.SigningRoot(root, domain), signature); err != nil {
		t.Errorf("signature: %v", err)
	}
	if eth.ForkOf(v.Version) != fork || b.payload.ParentHash != a.ParentHash || b.payload.PrevRandao != a.PrevRandao ||
		b.payload.Timestamp != specOf(fork).Timestamp(a.Slot) ||
		string(b.payload.ExtraData) != "a builder whose name is longer t" {
		t.Errorf("%s payload %s", v.Version, b.payload)
	}
	blobs := map[eth.Fork]int{eth.Deneb: 1, eth.Electra: 1, eth.Fulu: 1}[fork]
	proofs := blobs
	if fork >= eth.Fulu {
		proofs = blobs * eth.CellsPerBlob
	}
	if len(b.commitments) != blobs || b.proofs != proofs {
		t.Errorf("%d commitments and %d proofs, want %d and %d", len(b.commitments), b.proofs, blobs, proofs)
	}
	if err := node.Import(t.Context(), fork, b.payload, b.commitments, a.ParentRoot, b.requests); err != nil {
		t.Errorf("the block is refused: %v", err)
	}
	payment := new(types.Transaction)
	if err := payment.UnmarshalBinary(b.payload.Transactions[len(b.payload.Transactions)-1]); err != nil {
		t.Fatal(err)
	}
	if *payment.To() != common.Address(feeRecipient) || payment.Value().Cmp(trace.Value.ToBig()) != 0 ||
		trace.Value.IsZero() {
		t.Errorf("%s wei are bid, %s paid to %s", trace.Value, payment.Value(), payment.To())
	}
	return trace.Value
}

// Without transactions there is an auction too: the builder pays out of its wallet.
func TestAnEmptyBlockPays(t *testing.T) {
	spec := specOf(eth.Capella)
	node := opened(t, spec)
	node.pending = nil
	r, c := newRelay(t, registered(3))
	newBuilder(spec, node, c).auction(t.Context(), attributesFor(node, 3))
	got := r.got()
	if len(got) != 3 {
		t.Fatalf("%d bids, want 3", len(got))
	}
	for _, v := range got {
		if value, err := v.Value(); err != nil || value.Lt(leastWei) || len(v.Capella.ExecutionPayload.Transactions) != 1 {
			t.Errorf("value %s, %v, %d transactions", value, err, len(v.Capella.ExecutionPayload.Transactions))
		}
	}
}

// A relay may hear of attributes later than a builder: a refused bid is made again.
func TestARefusedBidIsMadeAgain(t *testing.T) {
	spec := specOf(eth.Capella)
	node := opened(t, spec)
	r, c := newRelay(t, registered(3))
	r.answer = func(n int) int {
		if n < 2 {
			return http.StatusBadRequest
		}
		return http.StatusOK
	}
	newBuilder(spec, node, c).auction(t.Context(), attributesFor(node, 3))
	if got := r.got(); len(got) != 5 {
		t.Errorf("%d submissions, want 2 that are refused and 3", len(got))
	}
}

// A bid that is refused is repeated a few times, and never once the slot has begun.
func TestARefusingRelayIsLeftAlone(t *testing.T) {
	spec := specOf(eth.Capella)
	node := opened(t, spec)
	r, c := newRelay(t, registered(3))
	r.answer = func(int) int { return http.StatusBadRequest }
	b := newBuilder(spec, node, c)
	b.auction(t.Context(), attributesFor(node, 3))
	if got := r.got(); len(got) == 0 || len(got) > 1+triesPerBid || b.Clock.Now().After(spec.SlotStart(3)) {
		t.Errorf("%d submissions until %v", len(got), b.Clock.Now())
	}
}

func TestOneRelayIsEnough(t *testing.T) {
	spec := specOf(eth.Capella)
	node := opened(t, spec)
	down, downClient := newRelay(t, nil)
	down.dutyStatus, down.answer = http.StatusInternalServerError, func(int) int { return http.StatusInternalServerError }
	up, upClient := newRelay(t, registered(3))
	newBuilder(spec, node, downClient, upClient).auction(t.Context(), attributesFor(node, 3))
	if len(down.got()) != 3 || len(up.got()) != 3 {
		t.Errorf("%d and %d bids, want 3 each", len(down.got()), len(up.got()))
	}
}

func TestNobodyToPayNoBid(t *testing.T) {
	spec := specOf(eth.Capella)
	node := opened(t, spec)
	r, c := newRelay(t, registered(4))
	newBuilder(spec, node, c).auction(t.Context(), attributesFor(node, 3))
	if len(r.got()) != 0 || r.asked < 2 {
		t.Errorf("%d bids for a slot without a registration, duties asked for %d times", len(r.got()), r.asked)
	}
}

// Relays are asked who proposes, again and again until one knows or the slot begins. One that fails
// or keeps silent is passed over.
func TestDuty(t *testing.T) {
	spec := specOf(eth.Capella)
	fails, failing := newRelay(t, registered(3))
	fails.dutyStatus = http.StatusInternalServerError
	_, knowing := newRelay(t, registered(3))
	silence := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-silence }))
	t.Cleanup(hangs.Close)
	t.Cleanup(func() { close(silence) })
	silent, err := client.New(hangs.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name   string
		slot   phase0.Slot
		relays []*client.Client
		known  bool
	}{
		{"one knows", 3, []*client.Client{knowing}, true},
		{"one fails", 3, []*client.Client{failing, knowing}, true},
		{"one is silent", 3, []*client.Client{silent, knowing}, true},
		{"nobody knows", 4, []*client.Client{failing, knowing}, false},
	} {
		b := newBuilder(spec, nil, step.relays...)
		duty, err := b.duty(t.Context(), step.slot)
		if (err == nil) != step.known || err != nil && !errors.Is(err, errNotRegistered) {
			t.Errorf("%s: %v", step.name, err)
		}
		if step.known && (duty.Slot != step.slot || duty.Registration.Message.FeeRecipient != feeRecipient) {
			t.Errorf("%s: %+v", step.name, duty)
		}
		if left := spec.SlotStart(step.slot).Sub(b.Clock.Now()); !step.known &&
			(left < 0 || left > spec.SlotDuration/dutyLooks) {
			t.Errorf("%s: given up %v before the slot", step.name, left)
		}
	}
}

// A relay that asks for a pause gets one, and one that has delivered the slot's payload gets no
// more; the other relay gets all bids.
func TestWhatARelayAsksFor(t *testing.T) {
	for _, row := range []struct {
		name   string
		header http.Header
		body   string
		want   int
	}{
		{"a pause", http.Header{"Retry-After": {"60"}}, `{"code":429,"message":"later"}`, 1},
		{"a short pause", http.Header{"Retry-After": {"0"}}, `{"code":429,"message":"later"}`, 3},
		{"no more", nil, `{"code":400,"message":"payload for this slot was already delivered"}`, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			spec := specOf(eth.Capella)
			node := opened(t, spec)
			up, upClient := newRelay(t, registered(3))
			var mu sync.Mutex
			got := 0
			asks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					mu.Lock()
					defer mu.Unlock()
					got++
				}
				maps.Copy(w.Header(), row.header)
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = w.Write([]byte(row.body)) // the builder may be gone
			}))
			t.Cleanup(asks.Close)
			c, err := client.New(asks.URL, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			newBuilder(spec, node, upClient, c).auction(t.Context(), attributesFor(node, 3))
			if got != row.want || len(up.got()) != 3 {
				t.Errorf("%d submissions, want %d; %d at the other relay, want 3", got, row.want, len(up.got()))
			}
		})
	}
}

// A relay that never answers a submission keeps no bid from the others.
func TestASilentRelayDelaysNobody(t *testing.T) {
	spec := specOf(eth.Capella)
	node := opened(t, spec)
	up, upClient := newRelay(t, registered(3))
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the server notices when the builder goes
		<-r.Context().Done()
	}))
	t.Cleanup(hangs.Close)
	c, err := client.New(hangs.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	up.after = func(n int) {
		if n == 2 {
			cancel() // the last bid has come; the next attributes would end the auction so
		}
	}
	newBuilder(spec, node, c, upClient).auction(ctx, attributesFor(node, 3))
	if len(up.got()) != 3 {
		t.Errorf("%d bids, want 3", len(up.got()))
	}
}

// Newer attributes end the work on older ones; the same ones again do not begin it anew.
func TestRun(t *testing.T) {
	spec := specOf(eth.Capella)
	node := opened(t, spec)
	r, c := newRelay(t, registered(3, 4))
	parent := phase0.Hash32(node.Genesis().Hash())
	bid, second := make(chan struct{}, 10), make(chan struct{})
	r.after = func(n int) {
		if bid <- struct{}{}; n == 1 {
			close(second)
		}
	}
	beacon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		send := func(slot string) {
			fmt.Fprintf(w,
				`data: {"data":{"proposal_slot":"%s","parent_block_number":"0","parent_block_hash":"%#x","parent_block_root":"%#x",`+
					`"payload_attributes":{"timestamp":"0","prev_randao":"%#x"}}}`+
					"\n\n", slot, parent[:], parent[:], parent[:])
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
		}
		send("3")
		<-bid
		send("3")
		send("4")
		<-bid
		<-request.Context().Done()
	}))
	defer beacon.Close()
	b := newBuilder(spec, node, c)
	b.BeaconURL = beacon.URL
	// The clock stands when the first bids are made: second ones wait until their work is ended.
	b.Clock = clock.NewLeap(spec.SlotStart(2), spec.SlotStart(2), nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	select {
	case err := <-ended:
		t.Fatalf("ended early: %v", err)
	case <-second:
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	var slots []uint64
	for _, v := range r.got() {
		slot, err := v.Slot()
		if err != nil {
			t.Fatal(err)
		}
		slots = append(slots, slot)
	}
	if fmt.Sprint(slots) != "[3 4]" {
		t.Errorf("bids for slots %v, want [3 4]", slots)
	}
}
