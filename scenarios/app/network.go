package app

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/devnet/beacon"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/scenarios/plan"
)

const (
	// chainID of the lab's execution layer; no public network has it.
	chainID = 0x67766c // "gvl"
	// gasLimit is what validators register and genesis starts with.
	gasLimit = 60_000_000
	// userWallets is how many accounts send transactions: enough that one sender's nonces seldom hold
	// up a block.
	userWallets = 16
	// searcherWallets is how many backruns of a searcher can land in a block.
	searcherWallets = 4
)

// network is what exists before anything runs: the spec, the clock, and everybody's keys.
type network struct {
	seed     uint64
	spec     *eth.Spec
	clock    *labClock
	users    []*ecdsa.PrivateKey
	builders []*ecdsa.PrivateKey
	traders  []*ecdsa.PrivateKey // the plan's users
	// searchers have some wallets each; the first one signs requests too.
	searchers [][]*ecdsa.PrivateKey
	payees    []common.Address // fee recipients by validator index
	payer     *ecdsa.PrivateKey
	// friend is who users split refunds with; it has nothing else.
	friend common.Address
}

// newNetwork makes the network of a plan. The clock stands still until it is started, so that no
// slot passes while parts are opened.
func newNetwork(p *plan.Plan) *network {
	genesis := time.Now().Truncate(time.Second)
	n := &network{
		seed: p.Seed, payer: wallet(p.Seed, "payer", 0), friend: address(wallet(p.Seed, "friend", 0)),
		clock: newLabClock(genesis, p.Speed),
	}
	forks := make([]eth.ForkPoint, len(p.Forks))
	for i, point := range p.Forks {
		point.Version = phase0.Version{byte(point.Fork) + 1, 'g', 'v', 'l'} // no public network has these
		forks[i] = point
	}
	n.spec = &eth.Spec{
		GenesisTime: genesis, GenesisForkVersion: phase0.Version{0x01, 'g', 'v', 'l'},
		GenesisValidatorsRoot: beacon.GenesisValidatorsRoot(p.Validators),
		SlotDuration:          p.Slot, SlotsPerEpoch: uint64(p.SlotsPerEpoch), Forks: forks,
	}
	for i := range userWallets {
		n.users = append(n.users, wallet(p.Seed, "user", i))
	}
	for i := range p.Users {
		n.traders = append(n.traders, wallet(p.Seed, "trader", i))
	}
	for i := range p.Searchers {
		var wallets []*ecdsa.PrivateKey
		for j := range searcherWallets {
			wallets = append(wallets, wallet(p.Seed, "searcher", i*searcherWallets+j))
		}
		n.searchers = append(n.searchers, wallets)
	}
	for i := range p.Builders {
		n.builders = append(n.builders, wallet(p.Seed, "builder", i))
	}
	for i := range p.Validators {
		n.payees = append(n.payees, address(wallet(p.Seed, "validator", i)))
	}
	return n
}

// funded are the accounts that have money at genesis.
func (n *network) funded() []common.Address {
	var list []common.Address
	for _, keys := range append([][]*ecdsa.PrivateKey{n.users, n.builders, n.traders}, n.searchers...) {
		for _, key := range keys {
			list = append(list, address(key))
		}
	}
	return append(list, address(n.payer))
}

// payee is the fee recipient of a validator.
func (n *network) payee(index phase0.ValidatorIndex) bellatrix.ExecutionAddress {
	return bellatrix.ExecutionAddress(n.payees[index])
}

func (n *network) builderKey(i int) *bls.SecretKey {
	return bls.Derive("builder "+strconv.FormatUint(n.seed, 10), uint64(i))
}

func (n *network) relayKey(i int) *bls.SecretKey { return relayKey(n.seed, i) }

func relayKey(seed uint64, i int) *bls.SecretKey { return bls.Derive("relay "+strconv.Itoa(i), seed) }

// wallet is the key number i of a family; the same seed gives the same keys. Keys of a lab only.
func wallet(seed uint64, family string, i int) *ecdsa.PrivateKey {
	for attempt := uint64(0); ; attempt++ {
		material := []byte("gavel scenario wallet: " + family)
		for _, part := range []uint64{seed, uint64(i), attempt} {
			material = binary.BigEndian.AppendUint64(material, part)
		}
		hash := sha256.Sum256(material)
		if key, err := crypto.ToECDSA(hash[:]); err == nil { // fails only outside the curve's order
			return key
		}
	}
}

func address(key *ecdsa.PrivateKey) common.Address { return crypto.PubkeyToAddress(key.PublicKey) }

// builderName is a builder's name in a plan.
func builderName(i int) string { return fmt.Sprintf("builder-%d", i+1) }
