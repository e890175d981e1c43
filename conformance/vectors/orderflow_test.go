package vectors_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/google/uuid"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/vectors"
	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/internal/sse"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
	"github.com/gavel-relay/gavel/rpc/pool"
	"github.com/gavel-relay/gavel/stream"
)

// desk takes the requests of a case, as rpc/method does.
type desk struct {
	chain *bundle.Chain
	head  rpc.Head
	pool  *pool.Pool
	at    time.Time
	came  []*rpc.Order
}

// take handles one request. The order is nil if it was cancelled or refused.
func (d *desk) take(step vectors.BundleStep) (*rpc.Order, error) {
	var request struct {
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(step.Request, &request); err != nil {
		return nil, err
	}
	in := bundle.Intake{
		Signer: common.HexToAddress(step.Signer), At: d.at, Head: d.head, Chain: d.chain, Limits: bundle.Defaults(),
	}
	var order *rpc.Order
	var cancel uuid.UUID
	var err error
	switch step.Method {
	case "eth_sendBundle":
		order, cancel, err = bundle.ReadSendBundle(request.Params, in)
	case "mev_sendBundle":
		order, err = bundle.ReadSendShare(request.Params, in)
	case "eth_cancelBundle":
		cancel, err = bundle.ReadCancelBundle(request.Params, in.Signer)
	default:
		err = errors.New("no such method: " + step.Method)
	}
	if err != nil {
		return nil, err
	}
	if order == nil {
		d.pool.Cancel(d.at, in.Signer, cancel)
		return nil, nil
	}
	// Whether what it follows may be followed is decided elsewhere; here it is as if it came alone.
	outcome, err := d.pool.Add(d.at, d.head, order)
	if err == nil {
		d.came = append(d.came, outcome.Order)
	}
	return order, err
}

// live are the hashes of the orders that are alive, in the order in which they came.
func (d *desk) live() []common.Hash {
	list, seen := []common.Hash{}, map[uint64]bool{}
	for _, order := range d.came {
		if state, known := d.pool.State(order.ID); known && !state.Final() && !seen[order.ID] {
			list, seen[order.ID] = append(list, order.Hash()), true
		}
	}
	return list
}

// The bundle RPC's readers and its pool come to each vector's verdicts, hashes and terms.
func TestRPCAgreesWithBundles(t *testing.T) {
	for _, suite := range []string{"eth-send-bundle", "mev-send-bundle", "replacements"} {
		file := readInto[vectors.Bundles](t, "rpc/"+suite+"/cases.json")
		for _, c := range file.Cases {
			t.Run(suite+"/"+c.Name, func(t *testing.T) {
				signer := types.LatestSignerForChainID(new(big.Int).SetUint64(file.ChainID))
				d := &desk{
					chain: bundle.NewChain(signer), head: rpc.Head{Number: file.Head.Number, Timestamp: file.Head.Timestamp},
					pool: pool.New(pool.Config{}), at: time.Unix(int64(file.Head.Timestamp), 0),
				}
				for i, step := range c.Steps {
					order, err := d.take(step)
					wantStep(t, i, order, err, step)
				}
				if got := d.live(); !slices.Equal(got, c.Live) {
					t.Errorf("alive are %v, the vector says %v", got, c.Live)
				}
			})
		}
	}
}

func wantStep(t *testing.T, i int, order *rpc.Order, err error, step vectors.BundleStep) {
	t.Helper()
	var refused *rpc.Refused
	if step.Verdict == "refused" {
		if !errors.As(err, &refused) || refused.ID != step.Refusal {
			t.Errorf("request %d: %v, the vector says refused by %s", i, err, step.Refusal)
		}
		return
	}
	if err != nil {
		t.Fatalf("request %d: %v, the vector says accepted", i, err)
	}
	if (order == nil) != (step.Order == nil) {
		t.Fatalf("request %d: order %v, the vector says %v", i, order, step.Order)
	}
	if order == nil {
		return
	}
	got, err := json.Marshal(termsOf(order))
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(step.Order)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("request %d: %s\nthe vector says %s", i, got, want)
	}
}

// termsOf are an order's terms, as vectors write them.
func termsOf(order *rpc.Order) vectors.OrderTerms {
	b := &order.Bundle
	terms := vectors.OrderTerms{
		BundleHash: b.Hash, MatchingHash: orderflow.MatchingHash(b.Hash), FirstBlock: b.Window.FirstBlock,
		LastBlock: b.Window.LastBlock,
	}
	for tx := range b.Transactions() {
		terms.TxHashes = append(terms.TxHashes, tx.Hash)
		if tx.CanRevert {
			terms.MayRevert = append(terms.MayRevert, tx.Hash)
		}
	}
	for _, refund := range b.Refunds {
		terms.Refunds = append(terms.Refunds, vectors.RefundTerm{Element: refund.Element, Percent: refund.Percent})
	}
	for _, share := range b.Shares {
		terms.Payees = append(terms.Payees, vectors.Payee{Address: hexutil.Encode(share.Address[:]), Percent: share.Percent})
	}
	if len(b.PaidBy) == 1 {
		terms.PaidBy = &b.PaidBy[0]
	}
	return terms
}

// The bundle RPC finds the signer of each request, or refuses it as the vector says.
func TestRPCAgreesWithSignatures(t *testing.T) {
	file := readInto[vectors.Signatures](t, "rpc/signatures/cases.json")
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			header := http.Header{}
			for _, one := range c.Headers {
				header.Add(one[0], one[1])
			}
			signer, refused := jsonrpc.SignatureScheme{}.Signer(header.Values, []byte(c.Body))
			switch {
			case c.Verdict == "accepted" && (refused != nil || signer != common.HexToAddress(file.Address)):
				t.Errorf("%v, %v; the vector says %s", signer, refused, file.Address)
			case c.Verdict == "refused" && (refused == nil || refused.ID != c.Refusal):
				t.Errorf("%v, %v; the vector says %s", signer, refused, c.Refusal)
			}
		})
	}
}

// hintsOf reads the names of hints, as the bundle RPC does.
func hintsOf(t *testing.T, names []string) (hints orderflow.Hints) {
	t.Helper()
	byName := map[string]orderflow.Hints{
		"hash": orderflow.Hash, "contract_address": orderflow.ContractAddress, "calldata": orderflow.Calldata,
		"function_selector": orderflow.FunctionSelector, "logs": orderflow.Logs, "default_logs": orderflow.DefaultLogs,
		"tx_hash": orderflow.TxHash, "full": orderflow.Full,
	}
	for _, name := range names {
		if byName[name] == 0 {
			t.Fatalf("no hint %q", name)
		}
		hints |= byName[name]
	}
	return hints
}

func sharedOf(t *testing.T, b vectors.SharedBundle) orderflow.Bundle {
	t.Helper()
	out := orderflow.Bundle{Hints: hintsOf(t, b.Hints)}
	for _, element := range b.Elements {
		if element.Bundle != nil {
			inner := sharedOf(t, *element.Bundle)
			out.Elements = append(out.Elements, orderflow.Element{Bundle: &inner})
			continue
		}
		tx := &orderflow.Tx{Raw: hexutil.MustDecode(element.Tx.Raw), Hash: element.Tx.Hash,
			From: common.HexToAddress(element.Tx.From)}
		for _, log := range element.Tx.Logs {
			tx.Logs = append(tx.Logs, orderflow.Log{Address: common.HexToAddress(log.Address), Topics: log.Topics,
				Data: hexutil.MustDecode(log.Data)})
		}
		out.Elements = append(out.Elements, orderflow.Element{Tx: tx})
	}
	return out
}

// The stream tells of each order what the vector says, and nothing of one that shares nothing.
func TestStreamAgreesWithHints(t *testing.T) {
	for _, c := range readInto[vectors.Hints](t, "stream/hints/cases.json").Cases {
		t.Run(c.Name, func(t *testing.T) {
			line, err := stream.ProjectHints(&orderflow.Shared{
				Hash: c.OrderHash, Bundle: sharedOf(t, c.Order), MevGasPriceWei: uint256.MustFromDecimal(c.MevGasPriceWei),
			}, stream.DefaultHints())
			if err != nil {
				t.Fatal(err)
			}
			if c.Event == nil || line == nil {
				if c.Event != nil || line != nil {
					t.Errorf("the stream says %s, the vector %v", line, c.Event)
				}
				return
			}
			want, err := json.Marshal(c.Event)
			if err != nil {
				t.Fatal(err)
			}
			wantSameJSON(t, line, want)
		})
	}
}

// The reader of event streams finds each vector's events, also if each byte comes alone.
func TestReaderAgreesWithTranscripts(t *testing.T) {
	for _, c := range readInto[vectors.Transcripts](t, "stream/transcripts/cases.json").Cases {
		for how, from := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader,
		} {
			t.Run(c.Name+"/"+strings.ReplaceAll(how, " ", "-"), func(t *testing.T) {
				reader, events := sse.NewReader(from(bytes.NewReader(hexutil.MustDecode(c.Bytes))), 1<<20),
					[]vectors.StreamedEvent{}
				for {
					event, err := reader.Next()
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					events = append(events, vectors.StreamedEvent{Type: event.Type, ID: event.ID, Data: string(event.Data)})
				}
				if !slices.Equal(events, c.Events) {
					t.Errorf("%q, the vector says %q", events, c.Events)
				}
			})
		}
	}
}

// Every text that a mev_sendBundle may have as a hint has a case of its own, and so has each set of
// them.
func TestHintsAreWhole(t *testing.T) {
	sets := map[string]bool{}
	for _, c := range readInto[vectors.Hints](t, "stream/hints/cases.json").Cases {
		sets[strings.Join(c.Order.Hints, " ")] = true
	}
	if len(sets) < 128 {
		t.Errorf("%d sets of hints, want 2^7", len(sets))
	}
}
