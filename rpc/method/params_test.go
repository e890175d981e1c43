package method

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// documents are params with all that a method knows, beside the example in docs/rpc.md. $A and $B
// are the example's transactions, #A and #B their hashes, $U is a name, $S the signer and @ an
// address. Together with the example they have each object that the method's schema has.
var documents = map[string][]string{
	"eth_sendBundle": {
		`[{"txs":["$A","$B"],"blockNumber":"2","minTimestamp":"1","maxTimestamp":"1700000200","revertingTxHashes":["#A"],"builders":["titan"],` +
			`"uuid":"$U","version":"v2","droppingTxHashes":["#B"],"refundPercent":"90","refundRecipient":"@","refundTxHashes":["#B"],"delayedRefund":true,` +
			`"signingAddress":"$S"}]`},
	"mev_sendBundle": {
		`[{"version":"v0.1","inclusion":{"block":"0x2"},"body":[{"bundle":{"version":"v0.1","inclusion":{},"body":[{"tx":"$A"}]}},{"tx":"$B","revertMode":"drop"}],` +
			`"validity":{"refund":[{"bodyIdx":"0","percent":"90"}],"refundConfig":[{"address":"@","percent":"100"}]},` +
			`"privacy":{"hints":["hash"],"builders":["titan"],"wantRefund":"50"},"metadata":{"cancelled":false},"replacementUuid":"$U"}]`,
		`[{"version":"v0.1","inclusion":{"block":"0x2"},"body":[{"hash":"#A"},{"tx":"$B"}]}]`,
	},
	"mev_simBundle": {
		`[{"version":"v0.1","inclusion":{"block":"0x2"},"body":[{"tx":"$A"}],"validity":{"refund":[{"bodyIdx":"0","percent":"1"}],` +
			`"refundConfig":[{"address":"@","percent":"1"}]},"privacy":{"hints":["hash"]},"metadata":{"cancelled":false},` +
			`"simOptions":{"parentBlock":{"blockNumber":"1"},"blockNumber":"2","coinbase":"@","timestamp":"3","gasLimit":"4","baseFee":"5","timeout":"6"}},` +
			`{"parentBlock":{"blockHash":"#A","requireCanonical":false},"number":"2","time":"3"}]`,
	},
	"eth_callBundle": {
		`[{"txs":["$A"],"blockNumber":"2","stateBlockNumber":"#A","timestamp":"3","coinbase":"@","timeout":"6","gasLimit":"4","difficulty":"7",` +
			`"baseFee":"5","excessBlobGas":"8","transactionIndex":"0"}]`},
	"eth_sendPrivateTransaction": {
		`[{"tx":"$A","maxBlockNumber":"9","preferences":` + fullPreferences + `}]`,
	},
	"eth_sendPrivateRawTransaction": {`["$A",` + fullPreferences + `]`},
	"eth_sendRawTransaction":        {`["$A",` + fullPreferences + `]`},
	"eth_cancelBundle":              {`[{"replacementUuid":"$U","signingAddress":"$S"}]`},
	"eth_estimateGasBundle": {
		`[{"txs":[{"from":"@","to":"@","gas":"21000","value":"1","data":"0x0102"},{"input":"0x03"}],"blockNumber":"2","stateBlockNumber":"1","timestamp":"3"}]`,
	},
	"flashbots_getFeeRefundsByRecipient": {`[{"recipient":"@","cursor":"x"}]`, `[{"recipient":"@"},"x"]`},
	"flashbots_getFeeRefundsByBundle":    {`[{"bundle_hash":"#A","cursor":"x"}]`, `["#A","x"]`},
	"flashbots_getFeeRefundsByBlock":     {`[{"block_number":"1","cursor":"x"}]`, `["1","x"]`},
	"buildernet_getDelayedRefunds": {
		`[{"recipient":"@","blockRangeFrom":"1","blockRangeTo":"2","cursor":"x","hash":"#A"}]`},
	"buildernet_getDelayedRefundTotalsByRecipient": {`[{"recipient":"@","blockRangeFrom":"1","blockRangeTo":"2"}]`},
	"flashbots_getUserStats":                       {`[{"blockNumber":"2"}]`},
}

const fullPreferences = `{"fast":true,"canRevert":true,"builders":["titan"],"blockRange":"5","privacy":{"hints":["hash"],"builders":["titan"]},` +
	`"validity":{"refund":[{"address":"@","percent":"10"}],"refundConfig":[{"address":"@","percent":"10"}]}}`

// documentsOf are the example and the documents of a method, of which there is at least the first.
func documentsOf(t *testing.T, m *Method) (all []string) {
	t.Helper()
	var shown map[string]Example
	if err := json.Unmarshal(examples, &shown); err != nil {
		t.Fatal(err)
	}
	example, found := shown[m.Name]
	if !found {
		t.Fatalf("%s has no example", m.Name)
	}
	params, err := json.Marshal(example.Params)
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, string(params))
	var txs []struct{ Txs []string }
	if err := json.Unmarshal(slices.Concat([]byte("["), shown["eth_sendBundle"].Params[0], []byte("]")),
		&txs); err != nil {
		t.Fatal(err)
	}
	fill := []string{"$U", "d9a3ae52-47a2-4b3e-9d29-6d3bd2d1b7f0", "$S", signer.Hex(), "@",
		common.HexToAddress("0xdead").Hex()}
	for i, name := range []string{"A", "B"} {
		tx := new(types.Transaction)
		if err := tx.UnmarshalBinary(common.FromHex(txs[0].Txs[i])); err != nil {
			t.Fatal(err)
		}
		fill = append(fill, "$"+name, txs[0].Txs[i], "#"+name, tx.Hash().Hex())
	}
	for _, document := range documents[m.Name] {
		all = append(all, strings.NewReplacer(fill...).Replace(document))
	}
	return all
}

// ask calls a method by the envelope, which lets nothing through that is not JSON, and has the
// answer's error.
func ask(t *testing.T, server http.Handler, method, params string) error {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	var answer struct {
		Error *struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%.200s is answered %d: %s", body, w.Code, w.Body)
	}
	switch {
	case answer.Error == nil:
		return nil
	case answer.Error.Code == -32603:
		t.Errorf("%.200s: our own error: %s", body, answer.Error.Message)
	}
	return errors.New(answer.Error.Message)
}

// forms are what is taken of params in more than one form, each by its reason. A name alone is a
// member of any object of any method.
func forms() (all []servetest.Exception) {
	for _, row := range []struct{ why, whats, wheres string }{
		{"hex comes with 0X too", "0X",
			"tx, txs.0, txs.1, data, input, block, maxBlock, blockNumber, stateBlockNumber, block_number, blockRangeFrom, " +
				"blockRangeTo, value, " +
				"address, coinbase, from, to, hash, refundRecipient, signingAddress, blockHash, bundleHash, bundle_hash, " +
				"droppingTxHashes.0, refundTxHashes.0, " +
				"revertingTxHashes.0, recipient, txHash, eth_sendPrivateRawTransaction 0, eth_sendRawTransaction 0, " +
				"flashbots_getUserStats 0, " +
				"flashbots_getFeeRefundTotalsByRecipient 0, flashbots_getFeeRefundsByBundle 0, " +
				"flashbots_getMevRefundTotalByRecipient 0, " +
				"flashbots_getMevRefundTotalBySender 0, flashbots_setFeeRefundRecipient 0, flashbots_setFeeRefundRecipient 1, " +
				"gavel_getOrderStatus 0"},
		{"bytes come without 0x too", "no 0x",
			"tx, txs.0, txs.1, data, input, eth_sendPrivateRawTransaction 0, eth_sendRawTransaction 0"},
		{"numbers come as numbers too", "a number",
			"block, blockNumber, stateBlockNumber, parentBlock, block_number, blockRangeFrom, blockRangeTo, value, " +
				"flashbots_getUserStats 0, flashbots_getFeeRefundsByBlock 0"},
		{"numbers come as decimal text too", "no 0x",
			"block, maxBlock, blockNumber, block_number, blockRangeFrom, blockRangeTo, value, flashbots_getUserStats 0"},
		{"numbers come in all forms", "bare, a leading zero",
			"stateBlockNumber, blockNumber, blockRangeFrom, blockRangeTo, value, block_number, baseFee, blockRange, " +
				"difficulty, excessBlobGas, gas, gasLimit, maxTimestamp, minTimestamp, number, refundPercent, time, timeout, " +
				"timestamp, wantRefund, bodyIdx, percent, " +
				"maxBlockNumber, transactionIndex, flashbots_getFeeRefundsByBlock 0"},
		{"numbers come as hex too", "hexadecimal",
			"stateBlockNumber, blockNumber, blockRangeFrom, blockRangeTo, value, block_number, baseFee, blockRange, " +
				"difficulty, excessBlobGas, gas, gasLimit, maxTimestamp, minTimestamp, number, refundPercent, time, timeout, " +
				"timestamp, wantRefund, bodyIdx, percent, " +
				"flashbots_getFeeRefundsByBlock 0"},
		{"it is another number", "half a byte more", "block, maxBlock, blockNumber, blockRangeTo, value, block_number"},
		{"it is another number", "a byte more, twice as long", "block, blockNumber, blockRangeTo, value, block_number"},
		{"they are other bytes", "a byte more, twice as long, no text, no bytes", "data, input"},
		{"they are other bytes", "a byte less", "data"},
		{"a hash that was a number has lost its leading zeros", "a byte less, half a byte less", "stateBlockNumber"},
		{"0x is what Go and Rust write for none", "no bytes",
			"maxBlock, blockNumber, stateBlockNumber, blockRangeFrom, blockRangeTo, value, flashbots_getUserStats 0"},
		{"no text is what Go writes for none", "no text",
			"stateBlockNumber, parentBlock, replacementUuid, uuid, version, revertMode, cursor, " +
				"flashbots_getFeeRefundsByRecipient 1, flashbots_getFeeRefundsByBundle 1, flashbots_getFeeRefundsByBlock 1"},
		{"it may be left out, and null is as good as nothing", "missing, null",
			"data, input, stateBlockNumber, parentBlock, blockNumber, blockRangeFrom, blockRangeTo, " +
				"value, maxBlock, maxBlockNumber, address, coinbase, from, to, hash, refundRecipient, signingAddress, cursor, " +
				"baseFee, blockRange, difficulty, " +
				"excessBlobGas, gas, gasLimit, maxTimestamp, minTimestamp, number, refundPercent, time, timeout, timestamp, " +
				"wantRefund, transactionIndex, " +
				"replacementUuid, uuid, version, revertMode, builders, canRevert, cancelled, delayedRefund, droppingTxHashes, " +
				"fast, hints, metadata, preferences, " +
				"privacy, refund, refundConfig, refundTxHashes, requireCanonical, revertingTxHashes, simOptions, validity"},
		{"an inner bundle's blocks are the outer one's", "missing, null", "inclusion"},
		{"without transactions the name is cancelled", "missing, null", "eth_sendBundle 0.txs"},
		{"null is as good as nothing", "null",
			"flashbots_getUserStats 0, flashbots_getUserStatsV2 0, flashbots_getUserStats , flashbots_getUserStatsV2 , " +
				"eth_sendPrivateRawTransaction 1, eth_sendRawTransaction 1, mev_simBundle 1, flashbots_getFeeRefundsByRecipient " +
				"1, flashbots_getFeeRefundsByBundle 1, " +
				"flashbots_getFeeRefundsByBlock 1"},
		{"clients of two versions send a number or an object", "an object", "flashbots_getUserStats 0"},
		{"the name of a builder is any text", "a blank before, a blank behind, a line end behind, a NUL behind, no text",
			"builders.0"},
		{"the ledger reads the cursor", "a blank before, a blank behind, a line end behind, a NUL behind",
			"cursor, flashbots_getFeeRefundsByRecipient 1, " +
				"flashbots_getFeeRefundsByBundle 1, flashbots_getFeeRefundsByBlock 1"},
	} {
		for where := range strings.SplitSeq(row.wheres, ", ") {
			if !strings.Contains(where, " ") {
				where = "* *." + where
			}
			for what := range strings.SplitSeq(row.whats, ", ") {
				all = append(all, servetest.Exception{Where: where, What: what, Why: row.why})
			}
		}
	}
	return all
}

// Params say one thing, whoever reads them; what clients write in several forms is taken in all of
// them. A method that is new needs a row here for each form that it takes and that is not its
// example's.
func TestMutatedParams(t *testing.T) {
	methods := agreeable()
	server := serve(t, methods)
	table := servetest.NewMutationTable(forms()...)
	for _, m := range methods.All() {
		for i, document := range documentsOf(t, &m) {
			t.Run(m.Name+" "+strconv.Itoa(i), func(t *testing.T) {
				table.Check(t, m.Name+" ", []byte(document), func(params []byte) error {
					return ask(t, server, m.Name, string(params))
				})
			})
		}
	}
	table.CheckUse(t)
}

// A member that nobody knows is refused by its path, in each object of each method.
func TestUnknownMembersAreRefused(t *testing.T) {
	methods := agreeable()
	server := serve(t, methods)
	for _, m := range methods.All() {
		tried := map[string]bool{}
		for _, document := range documentsOf(t, &m) {
			for _, place := range objects("params", parse(t, document)) {
				tried[regexp.MustCompile(`\[\d+\]`).ReplaceAllString(place, "[]")] = true
				for _, name := range []string{"nobodys", "Txs", "BLOCKNUMBER", "tx\u017f"} {
					bent := put(t, document, place, name, "1")
					want := "invalid params: " + place + "." + name + ": is not known; known are "
					if err := ask(t, server, m.Name, bent); err == nil ||
						!strings.HasPrefix(strings.ReplaceAll(err.Error(), `"tx\u017f"`, name), want) {
						t.Errorf("%s, %s: %v; want %s…", m.Name, bent, err, want)
					}
				}
			}
		}
		for i, p := range m.Params {
			for _, place := range schemaObjects(fmt.Sprintf("params[%d]", i), p.Schema) {
				if !tried[strings.ReplaceAll(place, "["+strconv.Itoa(i)+"]", "[]")] {
					t.Errorf("no document of %s has the object %s", m.Name, place)
				}
			}
		}
	}
}

// What deployed clients send although it has no effect is taken, whatever it is.
func TestToleratedMembersAreTaken(t *testing.T) {
	methods := agreeable()
	server := serve(t, methods)
	byName := map[string]Method{}
	for _, m := range methods.All() {
		byName[m.Name] = m
	}
	for _, object := range bundle.Toleration() {
		for _, place := range object.Places {
			m, found := byName[place.Method]
			if !found {
				t.Fatalf("there is no %s", place.Method)
			}
			at := slices.IndexFunc(documentsOf(t, &m), func(document string) bool {
				return slices.Contains(objects("params", parse(t, document)), place.Path)
			})
			if at < 0 {
				t.Fatalf("no document of %s has the object %s", m.Name, place.Path)
			}
			for _, member := range object.Members {
				if member.Sender == "" || member.Why == "" {
					t.Errorf("%s: who sends it, and why has it no effect?", member.Name)
				}
				for _, value := range []string{"1", "null", `"x"`, `{"a":[1]}`, "[]", "true"} {
					bent := put(t, documentsOf(t, &m)[at], place.Path, member.Name, value)
					if err := ask(t, server, m.Name, bent); err != nil {
						t.Errorf("%s, %s.%s: %v", m.Name, place.Path, member.Name, err)
					}
				}
			}
		}
	}
}

func parse(t *testing.T, document string) (v any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(document))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// objects are the places of the objects in a value.
func objects(path string, v any) (places []string) {
	switch v := v.(type) {
	case map[string]any:
		places = append(places, path)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			places = append(places, objects(path+"."+name, v[name])...)
		}
	case []any:
		for i, element := range v {
			places = append(places, objects(fmt.Sprintf("%s[%d]", path, i), element)...)
		}
	}
	return places
}

// schemaObjects are the places of the objects with members that a schema knows; lists have no
// index.
func schemaObjects(path string, s *Schema) (places []string) {
	if s == nil {
		return nil
	}
	if s.Properties != nil {
		places = append(places, path)
	}
	places = append(places, schemaObjects(path+"[]", s.Items)...)
	for name, property := range s.Properties {
		places = append(places, schemaObjects(path+"."+name, property)...)
	}
	for _, choice := range slices.Concat(s.OneOf, s.AnyOf) {
		places = append(places, schemaObjects(path, choice)...)
	}
	return places
}

// put is the document with a member in the object at a place.
func put(t *testing.T, document, place, name, value string) string {
	t.Helper()
	root := parse(t, document)
	at := root
	for _, step := range regexp.MustCompile(`[^.\[\]]+`).FindAllString(strings.TrimPrefix(place, "params"), -1) {
		switch v := at.(type) {
		case map[string]any:
			at = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil {
				t.Fatal(err)
			}
			at = v[i]
		}
	}
	object, is := at.(map[string]any)
	if !is {
		t.Fatalf("%s is no object of %s", place, document)
	}
	object[name] = json.RawMessage(value)
	bent, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return string(bent)
}

// agreeing has an answer for all methods, whatever they ask.
type agreeing struct{ submitter }

func (agreeing) Status(context.Context, common.Address, common.Hash) (*rpc.OrderStatus, error) {
	return &rpc.OrderStatus{}, nil
}

func (agreeing) Do(ctx context.Context, _ common.Address, _ string, run func(context.Context)) error {
	run(ctx)
	return nil
}

func (agreeing) Call(_ context.Context, txs []exec.Tx, _ exec.Environment) (*exec.CallResult, error) {
	got := &exec.CallResult{
		Parent: &types.Header{Number: common.Big1}, GasUsed: 1, GasFeesWei: new(uint256.Int), ToCoinbaseWei: new(uint256.Int),
		CoinbaseDiffWei: new(uint256.Int),
	}
	for range txs {
		got.Results = append(got.Results, exec.TxResult{
			GasUsed: 1, GasPriceWei: new(uint256.Int), GasFeesWei: new(uint256.Int), ToCoinbaseWei: new(uint256.Int),
			CoinbaseDiffWei: new(uint256.Int),
		})
	}
	return got, nil
}

func (agreeing) Simulate(context.Context, *exec.Bundle, exec.Environment) (*exec.BundleResult, error) {
	return &exec.BundleResult{Parent: &types.Header{Number: common.Big1}}, nil
}

func (agreeing) Record(rpc.Fact) {}

func (agreeing) High(common.Address) bool { return false }

func (agreeing) Stats(time.Time, common.Address) rpc.UserStats { return rpc.UserStats{} }

func (agreeing) SetRecipient(time.Time, common.Address, common.Address) error { return nil }

func (agreeing) ByRecipient(context.Context, time.Time, common.Address, string, int) (rpc.RefundPage, error) {
	return rpc.RefundPage{}, nil
}

func (agreeing) ByBundle(context.Context, time.Time, common.Hash, string, int) (rpc.RefundPage, error) {
	return rpc.RefundPage{}, nil
}

func (agreeing) ByBlock(context.Context, time.Time, uint64, string, int) (rpc.RefundPage, error) {
	return rpc.RefundPage{}, nil
}

func (agreeing) Totals(context.Context, time.Time, common.Address) (rpc.RefundTotals, error) {
	return rpc.RefundTotals{}, nil
}

func (agreeing) Delayed(context.Context, rpc.DelayedQuery, string, int) (rpc.RefundPage, error) {
	return rpc.RefundPage{}, nil
}

func (agreeing) DelayedTotals(context.Context, common.Address, *uint64, *uint64) (rpc.RefundTotals, error) {
	return rpc.RefundTotals{}, nil
}

// agreeable is methods that refuses nothing but params.
func agreeable() *Methods {
	yes := agreeing{}
	return &Methods{
		Submitter: yes, Canceller: yes, Mev: yes, Refunds: yes, Delayed: yes, Receivers: yes, Users: yes, Tracker: yes,
		Simulator: yes, Scheduler: yes, Facts: yes,
		Chain: bundle.NewChain(types.LatestSignerForChainID(big.NewInt(exampleChain))), Limits: bundle.Defaults(),
	}
}

// exampleChain is the chain of the examples in docs/rpc.md.
const exampleChain = 0x67766c
