package proposer

import (
	"crypto/ecdsa"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	builderbellatrix "github.com/attestantio/go-builder-client/api/bellatrix"
	buildercapella "github.com/attestantio/go-builder-client/api/capella"
	builderdeneb "github.com/attestantio/go-builder-client/api/deneb"
	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/beacon"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

const (
	testChainID = 77
	validators  = 3
)

// network is a real execution node behind an emulated beacon node that is spoken to over HTTP.
type network struct {
	spec   *eth.Spec
	clock  *clock.Stepped
	node   *chain.Node
	beacon *beacon.Beacon
	url    string
	wallet *ecdsa.PrivateKey
	// answered has the path of each request to the beacon node that is over.
	answered chan string

	mu        sync.Mutex // guards all below
	published int        // blocks that were handed to the beacon node
	failing   bool       // the beacon node answers 503
}

func newNetwork(t *testing.T, fork eth.Fork) *network {
	t.Helper()
	wallet, err := crypto.ToECDSA(crypto.Keccak256([]byte("proposer test")))
	if err != nil {
		t.Fatal(err)
	}
	n := &network{wallet: wallet, answered: make(chan string, 1000), spec: &eth.Spec{
		GenesisTime: time.Unix(1_700_000_000, 0), GenesisForkVersion: phase0.Version{9}, SlotDuration: 12 * time.Second,
		SlotsPerEpoch:         2,
		GenesisValidatorsRoot: beacon.GenesisValidatorsRoot(validators),
		Forks:                 []eth.ForkPoint{{Fork: fork, Version: phase0.Version{9, byte(fork)}}},
	}}
	n.clock = clock.NewStepped(n.spec.GenesisTime)
	if n.node, err = chain.Open(chain.Config{
		Spec: n.spec, ChainID: testChainID, Funded: []common.Address{crypto.PubkeyToAddress(wallet.PublicKey)},
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.node.Close(); err != nil {
			t.Error(err)
		}
	})
	if n.beacon, err = beacon.New(beacon.Config{
		Spec: n.spec, Clock: n.clock, Validators: validators, Seed: 1, Execution: n.node,
		GenesisHash: phase0.Hash32(n.node.Genesis().Hash()),
	}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	n.url = server.URL
	return n
}

// ServeHTTP counts what is sent to the beacon node.
func (n *network) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	if r.Method == http.MethodPost && r.URL.Path == "/eth/v2/beacon/blocks" {
		n.published++
	}
	failing := n.failing
	n.mu.Unlock()
	if failing {
		http.Error(w, "not today", http.StatusServiceUnavailable)
	} else {
		n.beacon.Handler().ServeHTTP(w, r)
	}
	n.answered <- r.URL.Path
}

func (n *network) fail(failing bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failing = failing
}

// wait waits until a request to a path is over.
func (n *network) wait(t *testing.T, path string) {
	t.Helper()
	for {
		select {
		case got := <-n.answered:
			if got == path {
				return
			}
		case <-t.Context().Done():
			t.Fatalf("no request to %s", path)
		}
	}
}

func (n *network) publications() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.published
}

func (n *network) config(sidecar Sidecar) Config {
	keys := map[phase0.ValidatorIndex]*bls.SecretKey{}
	for i := range phase0.ValidatorIndex(validators) {
		keys[i] = n.beacon.ValidatorKey(i)
	}
	return Config{
		Keys: keys, FeeRecipient: payee, GasLimit: 60_000_000, Spec: n.spec, Clock: n.clock, BeaconURL: n.url,
		Sidecar:       sidecar,
		HeaderTimeout: time.Minute, SubmitTimeout: time.Minute,
	}
}

// payee is the fee recipient of a validator.
func payee(index phase0.ValidatorIndex) bellatrix.ExecutionAddress {
	return bellatrix.ExecutionAddress{0xfe, byte(index)}
}

// build is a builder's block for a slot on genesis, with a transaction, and with a blob from deneb
// on.
func (n *network) build(t *testing.T, slot phase0.Slot) *chain.Built {
	t.Helper()
	to := common.Address{1}
	list := []types.TxData{&types.DynamicFeeTx{
		ChainID: big.NewInt(testChainID), GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei),
		Gas: params.TxGas,
		To:  &to, Value: big.NewInt(1),
	}}
	if fork := n.spec.ForkAt(slot); fork >= eth.Deneb {
		sidecar := chain.Sidecar(fork, 0)
		list = append(list, &types.BlobTx{
			ChainID: uint256.NewInt(testChainID), Nonce: 1, GasTipCap: uint256.NewInt(params.GWei),
			GasFeeCap: uint256.NewInt(100 * params.GWei),
			Gas:       params.TxGas, BlobFeeCap: uint256.NewInt(params.GWei), BlobHashes: sidecar.BlobHashes(), Sidecar: sidecar,
		})
	}
	var txs []*types.Transaction
	for _, data := range list {
		tx, err := types.SignNewTx(n.wallet, types.LatestSignerForChainID(big.NewInt(testChainID)), data)
		if err != nil {
			t.Fatal(err)
		}
		txs = append(txs, tx)
	}
	built, err := n.node.Build(t.Context(), chain.BuildArgs{
		Parent: phase0.Hash32(n.node.Genesis().Hash()), Slot: slot, PrevRandao: [32]byte{0xdd}, GasLimitTarget: 60_000_000,
		Coinbase: crypto.PubkeyToAddress(n.wallet.PublicKey), Transactions: txs,
	})
	if err != nil {
		t.Fatal(err)
	}
	if built.Left > 0 {
		t.Fatalf("%d transactions are left", built.Left)
	}
	return built
}

var relayKey = bls.Derive("relay", 1)

// offer is a relay's signed bid for a block.
func offer(t *testing.T, spec *eth.Spec, key *bls.SecretKey, valueWei uint64,
	built *chain.Built) *builderspec.VersionedSignedBuilderBid {
	t.Helper()
	header, err := payload.HeaderOf(built.Fork, built.Payload)
	if err != nil {
		t.Fatal(err)
	}
	return sign(t, spec, key, bidOf(built, header, uint256.NewInt(valueWei), key.PublicKey()))
}

// bidOf is an unsigned bid.
func bidOf(built *chain.Built, header *payload.Header, value *uint256.Int,
	pubkey phase0.BLSPubKey) *builderspec.VersionedSignedBuilderBid {
	v := &builderspec.VersionedSignedBuilderBid{Version: built.Fork.DataVersion()}
	switch built.Fork {
	case eth.Bellatrix:
		v.Bellatrix = &builderbellatrix.SignedBuilderBid{Message: &builderbellatrix.BuilderBid{
			Header: payload.HeaderToBellatrix(header), Value: value, Pubkey: pubkey,
		}}
	case eth.Capella:
		v.Capella = &buildercapella.SignedBuilderBid{Message: &buildercapella.BuilderBid{
			Header: payload.HeaderToCapella(header), Value: value, Pubkey: pubkey,
		}}
	case eth.Deneb:
		v.Deneb = &builderdeneb.SignedBuilderBid{Message: &builderdeneb.BuilderBid{
			Header: header, BlobKZGCommitments: built.Blobs.Commitments, Value: value, Pubkey: pubkey,
		}}
	default:
		bid := &builderelectra.SignedBuilderBid{Message: &builderelectra.BuilderBid{
			Header: header, BlobKZGCommitments: built.Blobs.Commitments, ExecutionRequests: built.Requests, Value: value,
			Pubkey: pubkey,
		}}
		if built.Fork == eth.Electra {
			v.Electra = bid
		} else {
			v.Fulu = bid
		}
	}
	return v
}

// sign puts a key's signature under the builder domain into a bid.
func sign(t *testing.T, spec *eth.Spec, key *bls.SecretKey,
	v *builderspec.VersionedSignedBuilderBid) *builderspec.VersionedSignedBuilderBid {
	t.Helper()
	root, err := v.MessageHashTreeRoot()
	if err != nil {
		t.Fatal(err)
	}
	signature := key.Sign(eth.SigningRoot(root, spec.BuilderDomain()))
	switch eth.ForkOf(v.Version) {
	case eth.Bellatrix:
		v.Bellatrix.Signature = signature
	case eth.Capella:
		v.Capella.Signature = signature
	case eth.Deneb:
		v.Deneb.Signature = signature
	case eth.Electra:
		v.Electra.Signature = signature
	case eth.Fulu:
		v.Fulu.Signature = signature
	default:
		panic(fmt.Sprintf("no bids in %s", v.Version))
	}
	return v
}
