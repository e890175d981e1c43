package vectors

import (
	"encoding/json"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/devnet/network"
)

// Bundles is a file of orders for a bundle RPC: eth_sendBundle and mev_sendBundle.
type Bundles struct {
	Schema  string `json:"$schema"`
	Suite   string `json:"suite"`
	ChainID uint64 `json:"chainId"`
	// Head is the newest block when each request comes.
	Head  Head         `json:"head"`
	Cases []BundleCase `json:"cases"`
}

// Head is a block of the chain.
type Head struct {
	Number    uint64 `json:"number"`
	Timestamp uint64 `json:"timestamp"`
}

// BundleCase is requests that come one after another, and what becomes of them.
type BundleCase struct {
	Name  string       `json:"name"`
	Says  string       `json:"says"`
	Steps []BundleStep `json:"steps"`
	// Live are the hashes of the orders that count in the end, in the order in which they came.
	Live    []common.Hash `json:"live"`
	Clauses []string      `json:"clauses,omitempty"`
}

// BundleStep is one request.
type BundleStep struct {
	Method string `json:"method"`
	// Signer is the address that signs the request (X-Flashbots-Signature).
	Signer  string          `json:"signer"`
	Request json.RawMessage `json:"request"`
	// Verdict is "accepted" or "refused", Refusal gavel's name for the reason.
	Verdict string `json:"verdict"`
	Refusal string `json:"refusal,omitempty"`
	// Order is what was accepted; empty if the request cancels.
	Order *OrderTerms `json:"order,omitempty"`
}

// OrderTerms are what follows from an accepted request.
type OrderTerms struct {
	// BundleHash is the result, TxHashes are the transactions', depth first.
	BundleHash common.Hash   `json:"bundleHash"`
	TxHashes   []common.Hash `json:"txHashes"`
	// MatchingHash is by which others can follow the order: the Keccak-256 of the bundle's hash.
	MatchingHash common.Hash `json:"matchingHash"`
	FirstBlock   uint64      `json:"firstBlock"`
	LastBlock    uint64      `json:"lastBlock"`
	// MayRevert are the transactions that may revert.
	MayRevert []common.Hash `json:"mayRevert,omitempty"`
	// Refunds say which part of what an element pays is given back, Payees who gets it. PaidBy is the
	// transaction whose payment counts (eth_sendBundle only).
	Refunds []RefundTerm `json:"refunds,omitempty"`
	Payees  []Payee      `json:"payees,omitempty"`
	PaidBy  *int         `json:"paidBy,omitempty"`
}

// RefundTerm is a percentage of what an element of the body pays.
type RefundTerm struct {
	Element int `json:"bodyIdx"`
	Percent int `json:"percent"`
}

// Payee gets a percentage of a refund.
type Payee struct {
	Address string `json:"address"`
	Percent int    `json:"percent"`
}

// headNumber and headTime are the newest block's.
const (
	headNumber = 100
	headTime   = genesisSeconds + 1200
)

// market has what bundles are made of.
type market struct {
	signer, other string
	txs           []*types.Transaction // of one sender, nonces from 0 on
	sender        string
	foreign       *types.Transaction // of another chain
}

func newMarket(seed uint64) (*market, error) {
	user := wallet(seed, "user")
	m := &market{
		signer: addressText(network.Address(wallet(seed, "searcher"))),
		other:  addressText(network.Address(wallet(seed, "other searcher"))), sender: addressText(network.Address(user)),
	}
	for nonce := range uint64(4) {
		tx, err := transfer(user, nonce)
		if err != nil {
			return nil, err
		}
		m.txs = append(m.txs, tx)
	}
	foreign, err := types.SignNewTx(user, types.LatestSignerForChainID(common.Big1), &types.DynamicFeeTx{
		ChainID: common.Big1, Gas: transferGas, GasFeeCap: common.Big1, GasTipCap: common.Big1, To: &common.Address{1},
	})
	if err != nil {
		return nil, fmt.Errorf("sign for another chain: %w", err)
	}
	m.foreign = foreign
	return m, nil
}

// encodeTx is a signed transaction in its binary form.
func encodeTx(tx *types.Transaction) string {
	encoded, err := tx.MarshalBinary()
	if err != nil {
		panic(fmt.Sprintf("encode a signed transaction: %v", err))
	}
	return hexutil.Encode(encoded)
}

func (m *market) raws(indices ...int) []string {
	list := []string{}
	for _, i := range indices {
		list = append(list, encodeTx(m.txs[i]))
	}
	return list
}

// hashes are the hashes of transactions, by their places.
func (m *market) hashes(indices ...int) []common.Hash {
	list := []common.Hash{}
	for _, i := range indices {
		list = append(list, m.txs[i].Hash())
	}
	return list
}

// concat is the Keccak-256 of hashes, one after another.
func concat(hashes ...common.Hash) common.Hash {
	var all []byte
	for _, hash := range hashes {
		all = append(all, hash[:]...)
	}
	return crypto.Keccak256Hash(all)
}

// object is a JSON object of a request.
type object = map[string]any

// step makes a step; order is nil for refusals and cancels.
func (m *market) step(method string, param object, refusal string, order *OrderTerms) BundleStep {
	request, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": []any{param}})
	if err != nil {
		panic(fmt.Sprintf("encode a request: %v", err))
	}
	s := BundleStep{Method: method, Signer: m.signer, Request: request, Verdict: "accepted", Order: order}
	if refusal != "" {
		s.Verdict, s.Refusal = "refused", refusal
	}
	if order != nil {
		order.MatchingHash = crypto.Keccak256Hash(order.BundleHash[:])
		if order.FirstBlock == 0 {
			order.FirstBlock, order.LastBlock = headNumber+1, headNumber+1
		}
	}
	return s
}

// case of one step.
func makeCase(name, says string, step BundleStep, clauses ...string) BundleCase {
	c := BundleCase{Name: name, Says: says, Steps: []BundleStep{step}, Live: []common.Hash{}, Clauses: clauses}
	if step.Order != nil {
		c.Live = append(c.Live, step.Order.BundleHash)
	}
	return c
}

func writeBundles(out *folder, seed uint64) error {
	m, err := newMarket(seed)
	if err != nil {
		return err
	}
	for _, suite := range []struct {
		name  string
		cases []BundleCase
	}{
		{"rpc/eth-send-bundle", append(m.sendCases(), m.refusedSends()...)},
		{"rpc/mev-send-bundle", append(m.shareCases(), m.refusedShares()...)},
		{"rpc/replacements", m.replacements()},
	} {
		file := Bundles{Schema: schemaOf(3, "bundles"), Suite: suite.name, ChainID: chainID,
			Head: Head{headNumber, headTime}, Cases: suite.cases}
		if err := out.document(suite.name+"/cases.json", "bundles", suite.name, len(file.Cases), file); err != nil {
			return err
		}
	}
	return nil
}
