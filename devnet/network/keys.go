package network

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/internal/eth/bls"
)

const (
	// UserWallets is how many accounts of users send transactions, usually. There are many, so that
	// one sender's nonces seldom hold up a block.
	UserWallets = 32
	// SearcherWallets is how many backruns of one searcher can land in a block, usually.
	SearcherWallets = 8
)

// Actors says how many participants there are of each kind. All have ether at genesis; traders also
// have tokens.
type Actors struct {
	// Users send to the public pool, Traders to the bundle RPC.
	Users, Traders, Builders, Searchers int
	// SearcherWallets is how many wallets a searcher has. Each of them can have one backrun in a
	// block.
	SearcherWallets int
}

// Keys are the keys of all participants. The same seed gives the same keys; they are for test
// networks only.
type Keys struct {
	Users, Traders, Builders []*ecdsa.PrivateKey
	Searchers                [][]*ecdsa.PrivateKey
	// Payer pays refunds that builders do not pay.
	Payer *ecdsa.PrivateKey
	// Payees are validators' fee recipients by index. Friend is the account with which users split
	// refunds. These have nothing at genesis.
	Payees []common.Address
	Friend common.Address

	seed uint64
}

// wellKnown is the account that examples use. Its key,
// 0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80, is public.
var wellKnown = common.HexToAddress("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")

func keysOf(seed uint64, validators int, actors Actors) Keys {
	k := Keys{
		Users: wallets(seed, "user", actors.Users), Traders: wallets(seed, "trader", actors.Traders),
		Builders: wallets(seed, "builder", actors.Builders), Payer: Wallet(seed, "payer", 0),
		Payees: Addresses(wallets(seed, "validator", validators)), Friend: Address(Wallet(seed, "friend", 0)), seed: seed,
	}
	all := wallets(seed, "searcher", actors.Searchers*actors.SearcherWallets)
	for i := range actors.Searchers {
		k.Searchers = append(k.Searchers, all[i*actors.SearcherWallets:(i+1)*actors.SearcherWallets])
	}
	return k
}

func wallets(seed uint64, family string, count int) []*ecdsa.PrivateKey {
	list := make([]*ecdsa.PrivateKey, count)
	for i := range list {
		list[i] = Wallet(seed, family, i)
	}
	return list
}

// funded returns the accounts that have ether at genesis.
func (k *Keys) funded() []common.Address {
	list := []common.Address{wellKnown, Address(k.Payer)}
	for _, keys := range append([][]*ecdsa.PrivateKey{k.Users, k.Traders, k.Builders}, k.Searchers...) {
		list = append(list, Addresses(keys)...)
	}
	return list
}

// Payee returns the fee recipient of a validator.
func (k *Keys) Payee(index phase0.ValidatorIndex) bellatrix.ExecutionAddress {
	return bellatrix.ExecutionAddress(k.Payees[index])
}

// BuilderKey returns the key that signs a builder's bids.
func (k *Keys) BuilderKey(i int) *bls.SecretKey {
	return bls.Derive("builder "+strconv.FormatUint(k.seed, 10), uint64(i))
}

// BuilderNames returns the builders' names by public key.
func (k *Keys) BuilderNames() map[phase0.BLSPubKey]string {
	names := map[phase0.BLSPubKey]string{}
	for i := range k.Builders {
		names[k.BuilderKey(i).PublicKey()] = BuilderName(i)
	}
	return names
}

// RelayKey returns the key that signs the bids of a relay.
func RelayKey(seed uint64, i int) *bls.SecretKey { return bls.Derive("relay", seed+uint64(i)<<32) }

// RelayAddress returns a relay's URL with its key in the user part, as sidecars are configured.
func RelayAddress(host string, key *bls.SecretKey) string {
	public := key.PublicKey()
	return fmt.Sprintf("http://%#x@%s", public[:], host)
}

// Wallet returns the key number i of a family; the same seed gives the same keys.
func Wallet(seed uint64, family string, i int) *ecdsa.PrivateKey {
	for attempt := uint64(0); ; attempt++ {
		material := []byte("gavel devnet wallet: " + family)
		for _, part := range []uint64{seed, uint64(i), attempt} {
			material = binary.BigEndian.AppendUint64(material, part)
		}
		hash := sha256.Sum256(material)
		if key, err := crypto.ToECDSA(hash[:]); err == nil { // fails only if the number is not below the curve's order
			return key
		}
	}
}

// Address returns the account of a key.
func Address(key *ecdsa.PrivateKey) common.Address { return crypto.PubkeyToAddress(key.PublicKey) }

// Addresses returns the accounts of keys.
func Addresses(keys []*ecdsa.PrivateKey) []common.Address {
	list := make([]common.Address, len(keys))
	for i, key := range keys {
		list[i] = Address(key)
	}
	return list
}

// BuilderName returns the name of a builder. Names count from 1, because people read them.
func BuilderName(i int) string { return fmt.Sprintf("builder-%d", i+1) }

// SearcherName returns the name of a searcher, which counts from 1 too.
func SearcherName(i int) string { return fmt.Sprintf("searcher-%d", i+1) }
