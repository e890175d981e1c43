package method

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
)

const maxAnswerBytes = 64 << 10

// lists are beginnings of params of the methods whose lists, objects and texts are worth attacking
// further in. A method that takes lists must be here.
var lists = map[string][]string{
	"eth_sendBundle": {`[{"txs":`, `[{"revertingTxHashes":`, `[{"builders":`},
	"mev_sendBundle": {
		`[{"version":"v0.1","inclusion":{"block":"0x2"},"body":`,
		`[{"version":"v0.1","inclusion":{"block":"0x2"},"body":[{"bundle":`,
		`[{"validity":{"refund":`, `[{"privacy":{"hints":`,
	},
	"mev_simBundle":                      {`[{"version":"v0.1","inclusion":{"block":"0x2"},"body":`, `[{"simOptions":`},
	"eth_callBundle":                     {`[{"txs":`, `[{"stateOverrides":`},
	"eth_sendPrivateTransaction":         {`[{"tx":`, `[{"preferences":{"privacy":{"hints":`},
	"eth_sendPrivateRawTransaction":      {`["0x00",{"privacy":{"hints":`},
	"eth_estimateGasBundle":              {`[{"txs":`, `[{"txs":[{"data":`},
	"flashbots_getFeeRefundsByRecipient": {`[{"cursor":`},
}

// What a request costs in memory is bounded by what it sends, whatever it sends to whatever method:
// the greatest heap is four times the decompressed body and a mebibyte, and the answer is short.
func TestMemoryOfARequestIsBoundedByItsBody(t *testing.T) {
	server, methods := memoryServer(t)
	known := maps.Clone(lists)
	for _, m := range methods {
		begins := known[m.Name]
		delete(known, m.Name)
		if begins == nil && slices.ContainsFunc(m.Params, func(p Param) bool { return hasList(p.Schema) }) {
			t.Errorf("%s takes lists: say in the table where", m.Name)
		}
		head := `{"jsonrpc":"2.0","id":1,"method":"` + m.Name + `","params":`
		within := []string{head + "["}
		for _, begin := range begins {
			within = append(within, head+begin)
		}
		checkMemory(t, server, m.Name, closed(memoryBody, within...))
	}
	for name := range known {
		t.Errorf("there is no %s", name)
	}
}

// The same for what is around a method: the envelope, and a batch.
func TestMemoryOfAnEnvelopeIsBoundedByItsBody(t *testing.T) {
	server, _ := memoryServer(t)
	const one = `{"jsonrpc":"2.0","id":1,"method":"eth_cancelBundle","params":`
	checkMemory(t, server, "the envelope", append(servetest.Bodies(memoryBody,
		`{"jsonrpc":`, `{"jsonrpc":"2.0","id":`, `{"jsonrpc":"2.0","id":1,"method":`, `[`,
		`[{"jsonrpc":"2.0","id":1,"method":`),
		closed(memoryBody, one, `{"jsonrpc":"2.0","id":`, `{"jsonrpc":"2.0","method":"x","id":`)...))
	batch := "[" + strings.TrimSuffix(strings.Repeat(one+`[{"replacementUuid":"`+strings.Repeat("a", memoryBody/100-100)+
		`"}]},`, 100), ",") + "]"
	ids := "[" +
		strings.TrimSuffix(strings.Repeat(`{"jsonrpc":"2.0","method":"x","id":"`+strings.Repeat("a", memoryBody/100-50)+`"},`,
			100), ",") + "]"
	checkMemory(t, server, "a batch", []servetest.Body{{Name: "full entries", Text: []byte(batch)},
		{Name: "long ids", Text: []byte(ids)}})
}

// closed are bodies behind good beginnings, with all that is open closed where the value allows it:
// the envelope lets nothing through to a method that is not JSON.
func closed(size int, within ...string) (all []servetest.Body) {
	for _, begin := range within {
		end := closing(begin)
		for _, body := range servetest.Bodies(size - len(begin) - len(end)) {
			all = append(all, servetest.Body{Name: body.Name + " behind " + begin[max(0, len(begin)-40):],
				Text: []byte(begin + string(body.Text) + end)})
		}
	}
	return all
}

// closing is what ends the objects and lists that a document has open.
func closing(document string) (end string) {
	text := false
	for _, c := range document {
		switch {
		case c == '"':
			text = !text
		case text:
		case c == '{':
			end = "}" + end
		case c == '[':
			end = "]" + end
		case c == '}', c == ']':
			end = end[1:]
		}
	}
	return end
}

func checkMemory(t *testing.T, server http.Handler, what string, bodies []servetest.Body) {
	t.Helper()
	for _, body := range bodies {
		allowed := servetest.Allowed(len(body.Text))
		answer := new(servetest.Answer)
		peak := servetest.Peak(t, allowed, func() {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body.Text))
			r.ContentLength = -1 // as of what comes packed
			r.Header.Set("Content-Type", "application/json")
			answer = new(servetest.Answer)
			server.ServeHTTP(answer, r)
		})
		if peak > allowed || answer.Bytes > maxAnswerBytes {
			t.Errorf("%s, %s: %d bytes of heap and %d of answer for %d", what, body.Name, peak, answer.Bytes, len(body.Text))
		}
	}
}

// memoryServer has all methods, each with its lists of ports that take everything and keep nothing.
func memoryServer(t *testing.T) (http.Handler, []Method) {
	t.Helper()
	methods := &Methods{Submitter: submitter{}, Canceller: submitter{}, Mev: submitter{},
		Chain:  bundle.NewChain(types.LatestSignerForChainID(common.Big1)),
		Limits: bundle.Defaults()}
	return serve(t, methods), methods.All()
}

// serve is the envelope with the methods of methods behind it; each request is signed by signer.
func serve(t *testing.T, methods *Methods) http.Handler {
	t.Helper()
	cfg := jsonrpc.Config{
		Methods: map[string]jsonrpc.Method{}, Verify: func(http.Header, []byte) (common.Address, error) {
			return signer, nil
		},
	}
	for _, m := range methods.All() {
		cfg.Methods[m.Name] = func(ctx context.Context, call *jsonrpc.Call) (any, error) {
			return m.Do(ctx, &Call{Params: call.Params, Signer: call.Signer, At: call.ReceivedAt})
		}
	}
	server, err := jsonrpc.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// signer is who signs in the examples of docs/rpc.md.
var signer = common.HexToAddress("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")

// submitter takes every order and cancels nothing.
type submitter struct{}

func (submitter) Head() rpc.Head { return rpc.Head{Number: 1} }

func (submitter) Submit(_ time.Time, order *rpc.Order) (*rpc.Order, error) { return order, nil }

func (submitter) Cancel(time.Time, common.Address, uuid.UUID) error { return nil }

func (submitter) CancelPrivate(time.Time, common.Address, common.Hash) (bool, error) {
	return false, nil
}

// hasList says that a value may have a list in it.
func hasList(s *Schema) bool {
	if s == nil {
		return false
	}
	return s.Type == "array" || hasList(s.Items) || slices.ContainsFunc(slices.Concat(s.OneOf, s.AnyOf), hasList) ||
		slices.ContainsFunc(slices.Collect(maps.Values(s.Properties)), hasList)
}

func (submitter) MevTotals(context.Context, time.Time, common.Address) (rpc.RefundTotals, error) {
	return rpc.RefundTotals{}, nil
}

func (submitter) MevTotalsOfSender(context.Context, time.Time, common.Address) (rpc.RefundTotals, error) {
	return rpc.RefundTotals{}, nil
}
