package app

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/beacon"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
)

// chainID of the devnet's execution layer; no public network has it.
const chainID = 0x67766c // "gvl"

// gasLimit is what validators register and genesis starts with.
const gasLimit = 60_000_000

// userWallets is how many accounts send transactions: enough that one sender's nonces seldom hold
// up a block.
const userWallets = 32

// privateWallets is how many accounts send private ones for each that is sent in a slot: an account
// waits until its transaction has landed. searcherWallets is how many backruns of a searcher can
// land in a block.
const (
	privateWallets  = 8
	searcherWallets = 8
)

// genesisForkVersion is signed into registrations and bids; no public network has it.
var genesisForkVersion = phase0.Version{0x01, 'g', 'v', 'l'}

// network is what exists before anything runs: the spec, the clock, and everybody's keys.
type network struct {
	spec     *eth.Spec
	clock    clock.Clock
	start    func() // lets the clock run
	users    []*ecdsa.PrivateKey
	traders  []*ecdsa.PrivateKey // users who send privately
	builders []*ecdsa.PrivateKey
	// searchers have some wallets each.
	searchers [][]*ecdsa.PrivateKey
	payees    []common.Address // fee recipients by validator index
}

// newNetwork makes the network. Genesis is now, in whole seconds; the clock stands still until
// start is called, so that no slot passes while parts are opened. With realTime, genesis lies in
// the near future of the wall clock, for programs that know no other.
func newNetwork(cfg devnet.Config, realTime bool) *network {
	genesis := time.Now().Truncate(time.Second)
	n := &network{start: func() {}}
	if realTime {
		genesis = genesis.Add(realTimeLead)
		n.clock = clock.Real{}
	} else {
		held := clock.NewHeld(genesis, cfg.Speed)
		n.clock, n.start = held, held.Start
	}
	n.spec = &eth.Spec{
		GenesisTime: genesis, GenesisForkVersion: genesisForkVersion,
		GenesisValidatorsRoot: beacon.GenesisValidatorsRoot(cfg.Validators),
		SlotDuration:          cfg.SlotDuration, SlotsPerEpoch: uint64(cfg.SlotsPerEpoch), Forks: cfg.Forks,
	}
	for i := range userWallets {
		n.users = append(n.users, wallet(cfg.Seed, "user", i))
	}
	for i := range cfg.OrdersPerSlot * privateWallets {
		n.traders = append(n.traders, wallet(cfg.Seed, "trader", i))
	}
	for i := range cfg.Searchers {
		n.searchers = append(n.searchers, nil)
		for j := range searcherWallets {
			n.searchers[i] = append(n.searchers[i], wallet(cfg.Seed, "searcher", i*searcherWallets+j))
		}
	}
	for i := range cfg.Builders {
		n.builders = append(n.builders, wallet(cfg.Seed, "builder", i))
	}
	for i := range cfg.Validators {
		n.payees = append(n.payees, address(wallet(cfg.Seed, "validator", i)))
	}
	return n
}

// realTimeLead leaves time to open all parts before a genesis on the wall clock.
const realTimeLead = 3 * time.Second

// wellKnown is the account of examples: its key,
// 0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80, is known to everybody.
var wellKnown = common.HexToAddress("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")

// funded are the accounts that have money at genesis.
func (n *network) funded() []common.Address {
	list := []common.Address{wellKnown}
	for _, keys := range append([][]*ecdsa.PrivateKey{n.users, n.traders, n.builders}, n.searchers...) {
		list = append(list, addresses(keys)...)
	}
	return list
}

func addresses(keys []*ecdsa.PrivateKey) []common.Address {
	list := make([]common.Address, len(keys))
	for i, key := range keys {
		list[i] = address(key)
	}
	return list
}

// payee is the fee recipient of a validator.
func (n *network) payee(index phase0.ValidatorIndex) bellatrix.ExecutionAddress {
	return bellatrix.ExecutionAddress(n.payees[index])
}

// wallet is the key number i of a family; the same seed gives the same keys. Devnet keys only.
func wallet(seed uint64, family string, i int) *ecdsa.PrivateKey {
	for attempt := uint64(0); ; attempt++ {
		material := []byte("gavel devnet wallet: " + family)
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

func searcherName(i int) string { return fmt.Sprintf("searcher-%d", i+1) }

func builderName(i int) string { return fmt.Sprintf("builder-%d", i+1) }
