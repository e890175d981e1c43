package network

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	denebapi "github.com/attestantio/go-builder-client/api/deneb"
	electraapi "github.com/attestantio/go-builder-client/api/electra"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/exec"
)

// scripted is a validator with one verdict for all blocks; it keeps the last one it saw.
type scripted struct {
	verdict exec.Verdict
	seen    *exec.Block
}

func (s *scripted) Validate(_ context.Context, b *exec.Block) exec.Verdict {
	s.seen = b
	return s.verdict
}

// submission is an electra parameter that the change has been applied to.
func submission(t *testing.T, change func(map[string]json.RawMessage, *builderv1.BidTrace)) string {
	t.Helper()
	trace := &builderv1.BidTrace{
		Slot: 1, ParentHash: phase0.Hash32{1}, BlockHash: phase0.Hash32{2}, ProposerFeeRecipient: bellatrix.ExecutionAddress{
			3}, GasLimit: 4,
		GasUsed: 5, Value: uint256.NewInt(6),
	}
	fields := map[string]json.RawMessage{}
	change(fields, trace)
	raw, err := json.Marshal(&electraapi.SubmitBlockRequest{
		Message: trace, ExecutionRequests: payload.EmptyRequests(), BlobsBundle: &denebapi.BlobsBundle{},
		ExecutionPayload: &payload.Payload{
			ParentHash: phase0.Hash32{1}, BlockHash: phase0.Hash32{2}, GasLimit: 4, GasUsed: 5, BaseFeePerGas: uint256.NewInt(7),
			Withdrawals: payload.FromWithdrawals(nil),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]json.RawMessage{
		"registered_gas_limit": json.RawMessage(`"30000000"`), "parent_beacon_block_root": json.RawMessage(`"0x09` +
			strings.Repeat("00", 31) + `"`),
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for name, value := range fields {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	if raw, err = json.Marshal(all); err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func same(map[string]json.RawMessage, *builderv1.BidTrace) {}

func call(method, params string) string {
	return `{"jsonrpc":"2.0","id":"x7","method":"` + method + `","params":[` + params + `]}`
}

func post(handler http.Handler, body string) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	handler.ServeHTTP(w, r)
	return w
}

const electraMethod = "flashbots_validateBuilderSubmissionV4"

func TestAnswers(t *testing.T) {
	valid := exec.Verdict{Class: exec.Valid, PaidWei: uint256.NewInt(8)}
	for name, row := range map[string]struct {
		body    string
		verdict exec.Verdict
		want    string
	}{
		"valid": {
			call(electraMethod, submission(t, same)), valid, `{"jsonrpc":"2.0","id":"x7","result":{"block_value":"8"}}`,
		},
		"invalid": {
			call(electraMethod, submission(t, same)), exec.Verdict{Class: exec.Invalid, Rule: exec.RulePayment,
				Detail: `gained 1 of "2"`},
			`{"jsonrpc":"2.0","id":"x7","error":{"code":-32000,"message":"payment: gained 1 of \"2\""}}`,
		},
		"not to be found out": {
			call(electraMethod, submission(t, same)), exec.Verdict{Class: exec.Infrastructure, Rule: exec.RuleParent,
				Detail: "unknown"},
			`{"jsonrpc":"2.0","id":"x7","error":{"code":-32000,"message":"parent: unknown"}}`,
		},
		"the message tells another gas limit": {
			call(electraMethod, submission(t, func(_ map[string]json.RawMessage, m *builderv1.BidTrace) {
				m.GasLimit++
			})), valid,
			`{"jsonrpc":"2.0","id":"x7","error":{"code":-32000,"message":"header: incorrect GasLimit 5, expected 4"}}`,
		},
		"no registered gas limit": {
			call(electraMethod, submission(t, func(f map[string]json.RawMessage, _ *builderv1.BidTrace) {
				f["registered_gas_limit"] = nil
			})), valid,
			`{"jsonrpc":"2.0","id":"x7","error":{"code":-32602,"message":"invalid argument 0: registered_gas_limit missing"}}`,
		},
		"no beacon root": {
			call(electraMethod, submission(t, func(f map[string]json.RawMessage, _ *builderv1.BidTrace) {
				f["parent_beacon_block_root"] = nil
			})), valid,
			`{"jsonrpc":"2.0","id":"x7","error":{"code":-32602,"message":"invalid argument 0: parent_beacon_block_root missing"}}`,
		},
		"no parameter": {
			call(electraMethod, ""), valid, `{"jsonrpc":"2.0","id":"x7","error":{"code":-32602,"message":"invalid params"}}`,
		},
		"another method": {
			call("eth_call", ""), valid,
			`{"jsonrpc":"2.0","id":"x7","error":{"code":-32601,"message":"the method eth_call does not exist/is not available"}}`,
		},
		"a later fork's method": {
			call("flashbots_validateBuilderSubmissionV7", "{}"), valid, `{"jsonrpc":"2.0","id":"x7","error":{"code":-32601,` +
				`"message":"the method flashbots_validateBuilderSubmissionV7 does not exist/is not available"}}`,
		},
		"a batch":  {"[]", valid, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not served"}}`},
		"not JSON": {"{", valid, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := post(ValidationHandler(&scripted{verdict: row.verdict}), row.body)
			if got.Code != http.StatusOK || got.Body.String() != row.want {
				t.Errorf("%d %s, want %s", got.Code, got.Body, row.want)
			}
		})
	}
}

// What the block promises is what the message says; what stands beside the submission arrives too.
func TestTheBlockAsDecoded(t *testing.T) {
	v := &scripted{verdict: exec.Verdict{Class: exec.Valid, PaidWei: uint256.NewInt(8)}}
	post(ValidationHandler(v), call(electraMethod, submission(t, same)))
	b := v.seen
	if b == nil {
		t.Fatal("nothing was judged")
	}
	if b.Fork != eth.Electra || b.ValueWei.Uint64() != 6 || b.FeeRecipient[0] != 3 || b.RegisteredGasLimit != 30_000_000 ||
		b.ParentBeaconRoot[0] != 9 || b.Trace.Slot != 1 || b.Payload.GasUsed != 5 || b.Blobs == nil || b.Requests == nil {
		t.Errorf("%+v", b)
	}
}

// failing is a body that breaks off.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("broken off") }

func TestWhatIsNoRequest(t *testing.T) {
	handler := ValidationHandler(&scripted{})
	for name, row := range map[string]struct {
		r    *http.Request
		kind string
		want int
	}{
		"GET":          {httptest.NewRequest(http.MethodGet, "/", nil), "application/json", http.StatusUnsupportedMediaType},
		"text":         {httptest.NewRequest(http.MethodPost, "/", nil), "text/plain", http.StatusUnsupportedMediaType},
		"no type":      {httptest.NewRequest(http.MethodPost, "/", nil), "", http.StatusUnsupportedMediaType},
		"breaking off": {httptest.NewRequest(http.MethodPost, "/", failing{}), "application/json", http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			row.r.Header.Set("Content-Type", row.kind)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, row.r)
			if w.Code != row.want {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}

// FuzzDecode: whatever comes as a parameter, it is decoded or refused.
func FuzzDecode(f *testing.F) {
	for i := range eth.Forks() {
		f.Add(i, `{}`)
		f.Add(i, `{"message":null,"execution_payload":null,"blobs_bundle":null,"execution_requests":null,"signature":"0x"}`)
	}
	f.Fuzz(func(t *testing.T, fork int, raw string) {
		if fork < 0 || fork >= len(eth.Forks()) {
			return
		}
		b, err := DecodeValidation(eth.Forks()[fork], []byte(raw))
		if err == nil && (b.Trace == nil || b.Payload == nil || b.ValueWei == nil || b.Payload.BaseFeePerGas == nil) {
			t.Errorf("%+v", b)
		}
	})
}

// A submission of gloas comes to the validator as it was sent; a message of another slot than the
// payload's is refused.
func TestSubmissionOfGloas(t *testing.T) {
	trace := &builderv1.BidTrace{Slot: 7, Value: uint256.NewInt(6)}
	raw, err := gloas.Mainnet.SignedBidSubmissionV6.ToJSON(&gloas.SignedBidSubmissionV6{
		Message: trace, ExecutionRequests: &gloas.ExecutionRequests{BuilderExits: []*gloas.BuilderExitRequest{{}}},
		ExecutionPayload: &gloas.ExecutionPayload{SlotNumber: 7, BlockAccessList: []byte{0xc0},
			BaseFeePerGas: uint256.NewInt(7)},
		BlobsBundle: &gloas.BlobsBundle{},
	})
	if err != nil {
		t.Fatal(err)
	}
	beside := `,"registered_gas_limit":"30000000","parent_beacon_block_root":"0x` + strings.Repeat("09", 32) + `"}`
	good := strings.TrimSuffix(string(raw), "}") + beside
	const method = "flashbots_validateBuilderSubmissionV6"
	for name, row := range map[string]struct{ body, want string }{
		"good": {good, `"result":{"block_value":"6"}`},
		"another slot": {strings.Replace(good, `"slot":"7"`, `"slot":"8"`, 1),
			`"header: incorrect Slot 8, expected 7"`},
		"no access list": {strings.Replace(good, `"block_access_list":"0xc0",`, "", 1), `"code":-32602`},
		"no gas limit":   {strings.Replace(good, "registered_gas_limit", "gas", 1), `"code":-32602`},
	} {
		t.Run(name, func(t *testing.T) {
			validator := &scripted{verdict: exec.Verdict{Class: exec.Valid, PaidWei: uint256.NewInt(6)}}
			got := post(ValidationHandler(validator), call(method, row.body)).Body.String()
			if !strings.Contains(got, row.want) {
				t.Errorf("%s, want %s", got, row.want)
			}
			if name != "good" {
				return
			}
			b := validator.seen
			if b.Fork != eth.Gloas || string(b.Gloas.AccessList) != "\xc0" || b.Gloas.Slot != 7 ||
				len(b.Gloas.BuilderExits) != 1 || b.ParentBeaconRoot[0] != 9 {
				t.Errorf("%+v", b)
			}
		})
	}
}
