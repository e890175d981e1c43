package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/rpc"
)

const (
	refund90  = `"validity":{"refund":[{"bodyIdx":0,"percent":90}]}`
	splitTo   = `,"validity":{"refundConfig":[{"address":"@","percent":50},{"address":"@","percent":50}]}`
	halfTo    = `,"validity":{"refundConfig":[{"address":"@","percent":50}]}`
	thirdTo   = `,"validity":{"refundConfig":[{"address":"@","percent":33}]}`
	nothingTo = `,"validity":{"refundConfig":[{"address":"@","percent":0}]}`
)

// outgoing is a request of each kind and what becomes of it for builders that speak eth_sendBundle,
// or mev_sendBundle.
var outgoing = []struct{ name, method, params string }{
	{"a bundle", "eth", `[{"txs":["$A","$B"]}]`},
	{"a bundle with everything", "eth",
		`[{"txs":["$A","$B","$C"],"minTimestamp":1210,"maxTimestamp":1300,"revertingTxHashes":["#B"],` +
			`"droppingTxHashes":["#C"],"replacementUuid":"$U","builders":["titan"],"refundPercent":70,"refundTxHashes":["#B"],"refundRecipient":"@",` +
			`"delayedRefund":true}]`},
	{"a private transaction", "private",
		`[{"tx":"$A","preferences":{"canRevert":true,"validity":{"refund":[{"address":"@","percent":50}]}}}]`},
	{"a bundle of mev_sendBundle", "mev", share +
		`"body":[{"tx":"$A","canRevert":true},{"tx":"$B","revertMode":"drop"}],"privacy":{"hints":["full"]},` +
		`"metadata":{"originId":"me"},"replacementUuid":"$U"}]`},
	{"a backrun of a transaction", "mev", share + `"body":[` + inner("") + `,{"tx":"$C"}],` + refund90 + `}]`},
	{"a backrun of a transaction whose refund is half", "mev", share + `"body":[` + inner(halfTo) + `,{"tx":"$C"}],` +
		refund90 + `}]`},
	{"a backrun whose refund is nothing", "mev", share + `"body":[` + inner(nothingTo) + `,{"tx":"$C"}],` +
		refund90 + `}]`},
	{"a refund to two addresses", "mev", share + `"body":[` + inner(splitTo) + `,{"tx":"$C"}],` + refund90 + `}]`},
	{"a refund of no whole percentage", "mev", share + `"body":[` + inner(thirdTo) + `,{"tx":"$C"}],` + refund90 + `}]`},
	{"two refunds", "mev", share + `"body":[{"tx":"$A"},{"tx":"$B"},{"tx":"$C"}],` +
		`"validity":{"refund":[{"bodyIdx":0,"percent":9},{"bodyIdx":1,"percent":9}]}}]`},
	{"a refund for the second", "mev", share +
		`"body":[{"tx":"$A"},{"tx":"$B"}],"validity":{"refund":[{"bodyIdx":1,"percent":90}]}}]`},
	{"a refund of all", "mev", share +
		`"body":[{"tx":"$A"},{"tx":"$B"}],"validity":{"refund":[{"bodyIdx":0,"percent":100}]}}]`},
	{"a refund paid by two", "mev", share + `"body":[{"tx":"$A"},{"tx":"$B"},{"tx":"$C"}],` + refund90 + `}]`},
	{"a refund within", "mev", share + `"body":[` + inner(`,`+refund90) + `,{"tx":"$C"}]}]`},
	{"a refund within, and nothing else", "mev", share +
		`"body":[{"bundle":{"version":"v0.1","body":[{"tx":"$A"},{"tx":"$B"}],` +
		`"validity":{"refund":[{"bodyIdx":1,"percent":50}]}}}]}]`},
	{"a hash without its order", "mev", share + `"body":[{"hash":"#A"},{"tx":"$C"}]}]`},
}

// What goes out to builders, to be read: testdata/outgoing.txt. A, B and C stand for the
// transactions and their hashes.
func TestOutgoing(t *testing.T) {
	var text strings.Builder
	for _, c := range outgoing {
		order := readOrder(t, c.method, c.params)
		fmt.Fprintf(&text, "%s\n", c.name)
		for _, form := range []struct {
			method string
			write  func(*rpc.Order, uint64, uuid.UUID) (json.RawMessage, error)
		}{{"eth_sendBundle", Outgoing}, {"mev_sendBundle", OutgoingShare}} {
			out, err := form.write(order, 101, OutgoingReplacement(order))
			switch {
			case err == nil:
				fmt.Fprintf(&text, "  %s %s\n", form.method, short(out))
			case errors.Is(err, ErrNotConvertible), errors.Is(err, ErrUnmatched):
				fmt.Fprintf(&text, "  %s not: %s\n", form.method, err)
			default:
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
	golden.File(t, "testdata/outgoing.txt", text.String())
}

func readOrder(t *testing.T, method, params string) *rpc.Order {
	t.Helper()
	switch method {
	case "eth":
		return sendBundle(t, params)
	case "mev":
		return sendShare(t, params)
	}
	order, err := ReadSendPrivate(fill(params), intake())
	if err != nil {
		t.Fatal(err)
	}
	return order
}

func short(out json.RawMessage) string {
	return strings.NewReplacer(rawA, "A", rawB, "B", rawC, "C", hashA.Hex(), "#A", hashB.Hex(), "#B", hashC.Hex(),
		"#C").Replace(string(out))
}

// A backrun whose order was found goes out as one bundle: the order's, whoever shares its refund,
// then the backrun that pays for it.
func TestOutgoingMatched(t *testing.T) {
	backrun := func(target *rpc.Order) *rpc.Order {
		order := *sendShare(t, share+`"body":[{"hash":"#A"},{"tx":"$C"}]}]`)
		order.Bundle.Elements = []rpc.Element{{Bundle: &target.Bundle}, order.Bundle.Elements[1]}
		order.Bundle.Refunds = []rpc.ElementRefund{{Element: 0, Percent: target.Bundle.WantRefundPercent}}
		return &order
	}
	for validity, percent := range map[string]string{
		`"refund":[{"address":"@","percent":80}]`:       "80", // of the whole
		`"refundConfig":[{"address":"@","percent":80}]`: "40", // of the half that comes back with fast
	} {
		private, err := ReadSendPrivate(fill(`[{"tx":"$A","preferences":{"fast":true,"validity":{`+validity+`}}}]`), intake())
		if err != nil {
			t.Fatal(err)
		}
		out, err := Outgoing(backrun(private), 101, uuid.Nil)
		want := `{"txs":["A","C"],"blockNumber":"0x65","refundPercent":` + percent +
			`,"refundRecipient":"0x1111111111111111111111111111111111111111","refundTxHashes":["#C"]}`
		if err != nil || short(out) != want {
			t.Errorf("%s: %s, %v; want %s", validity, short(out), err, want)
		}
	}
	// Nested refunds stay out, however deep; without them it is the first transaction's sender who
	// gets it, however deep. They have hints, or else nobody could have followed them.
	const hinted = `,"privacy":{"hints":["hash"]}}]`
	for params, want := range map[string]string{
		share + `"body":[` + inner(`,`+refund90) + `]` + hinted: "order cannot be converted: an inner bundle has a refund",
		share + `"body":[` + inner("") + `]` + hinted:           "<nil>",
	} {
		order := backrun(sendShare(t, params))
		out, err := Outgoing(order, 101, uuid.Nil)
		if fmt.Sprint(err) != want || err == nil && !strings.Contains(string(out), strings.ToLower(senderA.Hex())) {
			t.Errorf("%s: %s, %v; want %s", params, out, err, want)
		}
		if _, err := OutgoingShare(order, 101, uuid.Nil); err != nil {
			t.Error(err)
		}
	}
	unmatched := sendShare(t, share+`"body":[{"hash":"#A"},{"tx":"$B"}]}]`)
	if _, err := Outgoing(backrun(unmatched), 101, uuid.Nil); !errors.Is(err, ErrUnmatched) {
		t.Error(err)
	}
}

func TestOutgoingOutsideOfItsBlocks(t *testing.T) {
	order := sendBundle(t, `[{"txs":["$A"],"blockNumber":102}]`)
	for _, block := range []uint64{101, 103} {
		want := fmt.Sprintf("order cannot be converted: block %d is not in 102 to 102", block)
		if _, err := Outgoing(order, block, uuid.Nil); err == nil || err.Error() != want {
			t.Error(err)
		}
		if _, err := OutgoingShare(order, block, uuid.Nil); err == nil || err.Error() != want {
			t.Error(err)
		}
	}
}

// Two signers may choose the same replacementUuid; builders, who see only us, must tell them apart.
func TestOutgoingReplacement(t *testing.T) {
	order := sendBundle(t, `[{"txs":["$A"],"replacementUuid":"$U"}]`)
	again, other, none := *order, *order, *order
	other.Signer = recipient
	none.Replacement = uuid.Nil
	if OutgoingReplacement(order) != OutgoingReplacement(&again) ||
		OutgoingReplacement(order) == OutgoingReplacement(&other) ||
		OutgoingReplacement(&none) != uuid.Nil {
		t.Error(OutgoingReplacement(order), OutgoingReplacement(&other), OutgoingReplacement(&none))
	}
	private := rpc.Order{Kind: rpc.KindPrivate, Signer: order.Signer, Bundle: rpc.Bundle{Hash: common.Hash{1}}}
	second := rpc.Order{Kind: rpc.KindPrivate, Signer: order.Signer, Bundle: rpc.Bundle{Hash: common.Hash{2}}}
	if got := OutgoingReplacement(&private); got == uuid.Nil || got == OutgoingReplacement(&second) {
		t.Errorf("private transactions are both %s", got)
	}
	follower := rpc.Order{ID: 8, Kind: rpc.KindShare, Signer: order.Signer, Bundle: rpc.Bundle{Hash: common.Hash{1}},
		Follows: 7}
	same, rival := follower, follower
	rival.ID = 9
	if got := OutgoingReplacement(&follower); got == uuid.Nil || got != OutgoingReplacement(&same) ||
		got == OutgoingReplacement(&rival) {
		t.Errorf("two that follow an order are both %s", got)
	}
}

// generator draws requests over a few transactions that are signed once.
type generator struct {
	raws   []string
	hashes []common.Hash
}

func newGenerator(t *testing.T) *generator {
	g := &generator{}
	for i := range 12 {
		tx := transfer(i%5, uint64(i), i)
		g.raws, g.hashes = append(g.raws, rawOf(t, tx).String()), append(g.hashes, tx.Hash())
	}
	return g
}

func asText(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// bundle draws params[0] of eth_sendBundle, and how many transactions it has.
func (g *generator) bundle(t *rapid.T) map[string]any {
	order := rapid.Permutation(indices(len(g.raws))).Draw(t, "order")[:rapid.IntRange(1, len(g.raws)).Draw(t, "txs")]
	var txs []string
	var reverting, dropping []common.Hash
	for _, i := range order {
		txs = append(txs, g.raws[i])
		if rapid.Bool().Draw(t, "may revert") {
			reverting = append(reverting, g.hashes[i])
		}
		if rapid.Bool().Draw(t, "may be dropped") {
			dropping = append(dropping, g.hashes[i])
		}
	}
	params := map[string]any{
		"txs": txs, "blockNumber": rapid.Uint64Range(101, 140).Draw(t, "block"), "revertingTxHashes": reverting,
		"droppingTxHashes": dropping,
		"minTimestamp":     rapid.Uint64Range(0, 1300).Draw(t, "from"), "refundPercent": rapid.IntRange(0,
			99).Draw(t, "percent"),
		"delayedRefund": rapid.Bool().Draw(t, "delayed"),
	}
	if rapid.Bool().Draw(t, "has an end") {
		params["maxTimestamp"] = rapid.Uint64Range(1300, 1400).Draw(t, "to")
	}
	if rapid.Bool().Draw(t, "names the payer") {
		params["refundTxHashes"] = []common.Hash{g.hashes[rapid.SampledFrom(order).Draw(t, "payer")]}
	}
	if rapid.Bool().Draw(t, "names the recipient") {
		params["refundRecipient"] = recipient
	}
	return params
}

// share draws params[0] of mev_sendBundle, with bundles in it if it may.
func (g *generator) share(t *rapid.T, mayNest bool) map[string]any {
	var body []any
	n := rapid.IntRange(1, 5).Draw(t, "elements")
	for range n {
		if mayNest && rapid.Bool().Draw(t, "is a bundle") {
			body = append(body, map[string]any{"bundle": g.share(t, false)})
			continue
		}
		body = append(body, map[string]any{
			"tx": rapid.SampledFrom(g.raws).Draw(t, "tx"), "canRevert": rapid.Bool().Draw(t, "may revert"),
			"revertMode": rapid.SampledFrom([]string{"", "drop", "allow", "fail"}).Draw(t, "mode"),
		})
	}
	first := rapid.Uint64Range(95, 105).Draw(t, "first")
	params := map[string]any{
		"version": "v0.1", "inclusion": map[string]any{"block": first, "maxBlock": rapid.Uint64Range(110, 120).Draw(t,
			"last")}, "body": body,
		"privacy": map[string]any{"hints": []string{"hash"}},
	}
	validity := map[string]any{}
	if rapid.Bool().Draw(t, "refunds") {
		validity["refund"] = []any{map[string]any{"bodyIdx": rapid.IntRange(0, n-1).Draw(t, "whose"),
			"percent": rapid.IntRange(0, 100).Draw(t, "percent")}}
	}
	if rapid.Bool().Draw(t, "shares") {
		validity["refundConfig"] = []any{map[string]any{"address": recipient,
			"percent": rapid.IntRange(0, 100).Draw(t, "part")}}
	}
	params["validity"] = validity
	return params
}

func indices(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// What a builder reads from an eth_sendBundle of ours is the bundle that we were sent.
func TestOutgoingSaysTheSame(t *testing.T) {
	g := newGenerator(t)
	rapid.Check(t, func(t *rapid.T) {
		sent, _, err := ReadSendBundle(asText([]any{g.bundle(t)}), intake())
		if err != nil {
			t.Fatal(err)
		}
		out, err := Outgoing(sent, sent.Bundle.Window.FirstBlock, uuid.Nil)
		if err != nil {
			t.Fatal(err)
		}
		read, _, err := ReadSendBundle(asText([]any{out}), intake())
		if err != nil {
			t.Fatal(err)
		}
		if got, want := senderless(read.Bundle), senderless(sent.Bundle); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\n%s", asText(got), asText(want))
		}
	})
}

// What a builder reads from a mev_sendBundle of ours is the bundle that we were sent, for one block
// and without its hints; flattened, it has the same transactions.
func TestOutgoingShareSaysTheSame(t *testing.T) {
	g := newGenerator(t)
	in := intake()
	in.Limits.MaxBackruns = 0
	rapid.Check(t, func(t *rapid.T) {
		sent, err := ReadSendShare(asText([]any{g.share(t, true)}), in)
		if err != nil {
			t.Fatal(err)
		}
		block := rapid.Uint64Range(max(101, sent.Bundle.Window.FirstBlock), sent.Bundle.Window.LastBlock).Draw(t, "block")
		at := in
		at.Head.Number = block - 1
		out, err := OutgoingShare(sent, block, uuid.Nil)
		if err != nil {
			t.Fatal(err)
		}
		read, err := ReadSendShare(asText([]any{out}), at)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := senderless(read.Bundle), senderless(narrowed(sent.Bundle, block)); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\n%s", asText(got), asText(want))
		}
		if out, err = Outgoing(sent, block, uuid.Nil); errors.Is(err, ErrNotConvertible) {
			return
		}
		flattened, _, err := ReadSendBundle(asText([]any{out}), at)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := rawsOf(t, &flattened.Bundle), rawsOf(t, &sent.Bundle); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

// narrowed is a bundle for one block, of which nobody learns.
func narrowed(b rpc.Bundle, block uint64) rpc.Bundle {
	b.Hints, b.Window = 0, rpc.Window{FirstBlock: block, LastBlock: block}
	elements := b.Elements
	b.Elements = nil
	for _, e := range elements {
		if e.Bundle != nil {
			inner := narrowed(*e.Bundle, block)
			e.Bundle = &inner
		}
		b.Elements = append(b.Elements, e)
	}
	return b
}

// senderless is a bundle of which nobody has found out yet who sent its transactions: it depends on
// its terms who is known early.
func senderless(b rpc.Bundle) rpc.Bundle {
	elements := b.Elements
	b.Elements = nil
	for _, e := range elements {
		if e.Tx != nil {
			tx := *e.Tx
			tx.From = common.Address{}
			e.Tx = &tx
		}
		if e.Bundle != nil {
			inner := senderless(*e.Bundle)
			e.Bundle = &inner
		}
		b.Elements = append(b.Elements, e)
	}
	return b
}

func rawsOf(t *rapid.T, b *rpc.Bundle) []string {
	txs, err := flatten(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	var raws []string
	for _, tx := range txs {
		raws = append(raws, tx.Raw.String())
	}
	return raws
}
