package chain

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

var unit = uint256.NewInt(params.Ether) // one ether in wei, and one token

// OpeningEtherWei and OpeningTokens are the reserves of each pool at genesis: 1,000 ether for
// 2,000,000 tokens.
var (
	OpeningEtherWei = new(uint256.Int).Mul(uint256.NewInt(1_000), unit)
	OpeningTokens   = new(uint256.Int).Mul(uint256.NewInt(2_000_000), unit)
)

// purse is how many tokens each trader has at genesis: 1,000,000.
var purse = new(uint256.Int).Mul(uint256.NewInt(1_000_000), unit)

// Slots of the contracts' storage, in the order in which the Solidity sources declare their
// variables.
const (
	slotBalances, slotAllowances, slotSupply = 0, 1, 2 // Token, WrappedEther
	slotToken0, slotToken1                   = 0, 1    // Pool
	slotReserve0, slotReserve1               = 2, 3
)

// Genesis returns the accounts of the market. Traders have tokens, and have allowed the router to
// sell them.
func Genesis(traders []common.Address) types.GenesisAlloc {
	tokens := holdings{PoolA: OpeningTokens, PoolB: OpeningTokens}
	for _, trader := range traders {
		tokens[trader] = purse
	}
	pools := holdings{PoolA: OpeningEtherWei, PoolB: OpeningEtherWei}
	tokenStorage := tokens.storage()
	everything := common.MaxHash
	for _, trader := range traders {
		tokenStorage[mapped(common.BytesToHash(RouterAt[:]), mapped(common.BytesToHash(trader[:]), slot(slotAllowances)))] =
			everything
	}
	alloc := types.GenesisAlloc{
		WrappedEther: {Nonce: 1, Code: wrapped.Code, Storage: pools.storage(), Balance: pools.sum().ToBig()},
		Token:        {Nonce: 1, Code: token.Code, Storage: tokenStorage, Balance: new(big.Int)},
		RouterAt:     {Nonce: 1, Code: router.Code, Balance: new(big.Int)},
		BackrunAt:    {Nonce: 1, Code: backrun.Code, Balance: new(big.Int)},
	}
	for _, at := range Pools {
		alloc[at] = types.Account{Nonce: 1, Code: pool.Code, Balance: new(big.Int), Storage: map[common.Hash]common.Hash{
			slot(slotToken0): common.BytesToHash(WrappedEther[:]), slot(slotToken1): common.BytesToHash(Token[:]),
			slot(slotReserve0): OpeningEtherWei.Bytes32(), slot(slotReserve1): OpeningTokens.Bytes32(),
		}}
	}
	return alloc
}

// holdings are the balances of a token, by owner.
type holdings map[common.Address]*uint256.Int

func (h holdings) sum() *uint256.Int {
	sum := new(uint256.Int)
	for _, balance := range h {
		sum.Add(sum, balance)
	}
	return sum
}

func (h holdings) storage() map[common.Hash]common.Hash {
	storage := map[common.Hash]common.Hash{slot(slotSupply): h.sum().Bytes32()}
	for owner, balance := range h {
		storage[mapped(common.BytesToHash(owner[:]), slot(slotBalances))] = balance.Bytes32()
	}
	return storage
}

func slot(n uint64) common.Hash { return uint256.NewInt(n).Bytes32() }

// mapped returns the storage slot of a mapping's value (Solidity, "Layout of State Variables in
// Storage").
func mapped(key, slot common.Hash) common.Hash { return crypto.Keccak256Hash(key[:], slot[:]) }
