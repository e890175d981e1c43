package builder

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/google/uuid"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/contract"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay/client"
)

// stage is a builder on a real chain with a market, to which orders are sent over HTTP.
// Transactions have names:
//
//	A      user 0 buys tokens for 20 ether in pool A, with a tip
//	A2     what user 0 does next: a transfer with a greater tip
//	B50 …  a searcher of that name closes the gap and pays so many percent of its profit
//	P, Q   transfers of users 8 and 9 with tips of 5 and 3 gwei
//	R      a swap at a price that is not to be had, which reverts
type stage struct {
	t       *testing.T
	node    *pool
	builder *Builder
	url     string
	txs     map[string]*types.Transaction
	// payees are names for who may get money.
	payees map[common.Address]string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	node := opened(t, specOf(eth.Capella))
	node.pending = nil
	return stageOn(t, node)
}

// stageOn is a stage on a chain that others may use too: nothing is imported into it.
func stageOn(t *testing.T, node *pool, relays ...*client.Client) *stage {
	t.Helper()
	s := &stage{t: t, node: node, builder: newBuilder(specOf(eth.Capella), node, relays...),
		txs: map[string]*types.Transaction{}, payees: map[common.Address]string{}}
	handler, err := s.builder.Handler()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	s.url = server.URL

	ether := func(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(params.Ether)) }
	call := func(name string, user int, nonce uint64, tipGwei int64, to common.Address, value *big.Int, data []byte) {
		tx, err := types.SignNewTx(testWallet("user", user), s.builder.Signer, &types.DynamicFeeTx{
			ChainID: big.NewInt(testChainID), Nonce: nonce, GasTipCap: big.NewInt(tipGwei * params.GWei),
			GasFeeCap: big.NewInt(100 * params.GWei),
			Gas:       contract.BackrunGas, To: &to, Value: value, Data: data,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.txs[name] = tx
	}
	call("A", 0, 0, 1, contract.RouterAt, ether(20), contract.BuyCall(contract.PoolA, new(uint256.Int)))
	call("A2", 0, 1, 90, common.Address{0xa2}, ether(1), nil)
	for i, percent := range []uint64{50, 60, 80} {
		call(fmt.Sprint("B", percent), 1+i, 0, 0, contract.BackrunAt, ether(100),
			contract.RunCall(contract.PoolA, contract.PoolB, percent))
	}
	call("P", 8, 0, 5, common.Address{0xaa}, ether(1), nil)
	call("Q", 9, 0, 3, common.Address{0xbb}, ether(1), nil)
	call("R", 7, 0, 2, contract.RouterAt, ether(1),
		contract.BuyCall(contract.PoolB, uint256.MustFromBig(ether(1_000_000))))
	for i := range 10 {
		s.payees[addressOf(testWallet("user", i))] = fmt.Sprint("user", i)
	}
	return s
}

// raw is a transaction's text, hash its hash.
func (s *stage) raw(name string) hexutil.Bytes {
	s.t.Helper()
	tx, ok := s.txs[name]
	if !ok {
		s.t.Fatalf("no transaction %s", name)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		s.t.Fatal(err)
	}
	return raw
}

func (s *stage) hash(name string) common.Hash { return s.txs[name].Hash() }

// object is JSON.
type object = map[string]any

// bundle is an eth_sendBundle for block 1; fields are added to it.
func (s *stage) bundle(names string, fields object) object {
	form := object{"blockNumber": "0x1"}
	var txs []hexutil.Bytes
	for _, name := range strings.Fields(names) {
		txs = append(txs, s.raw(name))
	}
	form["txs"] = txs
	for key, value := range fields {
		form[key] = value
	}
	return form
}

// tx is an element of a mev_sendBundle, share one for block 1.
func (s *stage) tx(name string) object { return object{"tx": s.raw(name)} }

func share1(validity object, body ...object) object {
	return object{"version": "v0.1", "inclusion": object{"block": "0x1", "maxBlock": "0x1"}, "body": body,
		"validity": validity}
}

// refund90 gives 90 % of what comes after element 0 back to its owner.
var refund90 = object{"refund": []object{{"bodyIdx": 0, "percent": 90}}}

// do calls a method, signed by a key, and answers the result, or the error's text.
func (s *stage) do(by *ecdsa.PrivateKey, method string, param any) string {
	s.t.Helper()
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": []any{param}})
	if err != nil {
		s.t.Fatal(err)
	}
	signature, err := crypto.Sign(accounts.TextHash([]byte(crypto.Keccak256Hash(body).Hex())), by)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.post(body, addressOf(by).Hex()+":"+hexutil.Encode(signature))
}

func (s *stage) post(body []byte, signature string) string {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Flashbots-Signature", signature)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		return response.Status + " " + strings.TrimSpace(string(text))
	}
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	if answer.Error != nil {
		return "error " + answer.Error.Message
	}
	return string(answer.Result)
}

// send is do by the order-flow service's key; it must succeed.
func (s *stage) send(method string, param any) {
	s.t.Helper()
	if answer := s.do(testWallet("service", 0), method, param); strings.HasPrefix(answer, "error") ||
		!strings.HasPrefix(answer, "{") {
		s.t.Fatalf("%s: %s", method, answer)
	}
}

// draft is block 1 with the orders that the builder puts there, and the results.
func (s *stage) draft() (*chain.Draft, []*result) {
	s.t.Helper()
	draft, err := s.node.Draft(s.t.Context(), s.args())
	if err != nil {
		s.t.Fatal(err)
	}
	return s.builder.merge(s.t.Context(), draft, s.builder.intake.forBlock(draft.Number(), draft.Timestamp()))
}

func (s *stage) args() chain.BuildArgs {
	return chain.BuildArgs{
		Parent: phase0.Hash32(s.node.Genesis().Hash()), Slot: 1, Coinbase: addressOf(testWallet("builder", 0)),
		GasLimitTarget: 60_000_000,
	}
}

// block is block 1 in names; a payout is an arrow to who gets it.
func (s *stage) block() string {
	s.t.Helper()
	draft, _ := s.draft()
	built, err := draft.Finish(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return s.names(built.Block.Transactions())
}

func (s *stage) names(txs types.Transactions) string {
	byHash := map[common.Hash]string{}
	for name, tx := range s.txs {
		byHash[tx.Hash()] = name
	}
	var names []string
	for _, tx := range txs {
		name, ok := byHash[tx.Hash()]
		if !ok {
			name = "→" + s.payees[*tx.To()]
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// uuidOf is a replacementUuid by its number.
func uuidOf(n int) uuid.UUID { return uuid.NewSHA1(uuid.Nil, []byte{byte(n)}) }
