package bundle

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/rpc"
)

func sendPrivate(t *testing.T, fields string) *rpc.Order {
	t.Helper()
	order, err := ReadSendPrivate(fill(`[{"tx":"$A"`+fields+`}]`), intake())
	if err != nil {
		t.Fatalf("%s: %v", fields, err)
	}
	return order
}

func TestSendPrivate(t *testing.T) {
	order := sendPrivate(t, ``)
	if order.Kind != rpc.KindPrivate || order.Hash() != hashA || order.Signer != intake().Signer || order.AllBuilders ||
		order.Builders != nil {
		t.Errorf("%+v", order)
	}
	b := order.Bundle
	if b.Window != (rpc.Window{FirstBlock: 101, LastBlock: 125}) || b.Hints != orderflow.Hash|orderflow.DefaultLogs ||
		b.WantRefundPercent != 90 ||
		b.Shares != nil {
		t.Errorf("%+v", b)
	}
	if tx := b.Elements[0].Tx; len(b.Elements) != 1 || tx.From != senderA || tx.CanRevert {
		t.Errorf("%+v", tx)
	}
	if !sendPrivate(t, `,"preferences":{"canRevert":true}`).Bundle.Elements[0].Tx.CanRevert {
		t.Error("it may not revert")
	}
}

// A private transaction is tried for 25 blocks, or fewer if its sender says so.
func TestPrivateWindow(t *testing.T) {
	for max, last := range map[string]uint64{
		`null`: 125, `0`: 125, `"0x0"`: 125, `101`: 101, `"0x7d"`: 125, `126`: 125, `"0xffffffffffffffff"`: 125, `"110"`: 110,
	} {
		if got := sendPrivate(t, `,"maxBlockNumber":`+max).Bundle.Window; got != (rpc.Window{FirstBlock: 101,
			LastBlock: last}) {
			t.Errorf("maxBlockNumber %s: %+v, want the last to be %d", max, got, last)
		}
	}
	for blocks, last := range map[string]uint64{`null`: 125, `0`: 125, `1`: 101, `"0x5"`: 105, `26`: 125,
		`"0xffffffffffffffff"`: 125} {
		if got := sendPrivate(t, `,"preferences":{"blockRange":`+blocks+`}`).Bundle.Window; got != (rpc.Window{FirstBlock: 101, LastBlock: last}) {
			t.Errorf("blockRange %s: %+v, want the last to be %d", blocks, got, last)
		}
	}
	if got := sendPrivate(t, `,"maxBlockNumber":103,"preferences":{"blockRange":9}`).Bundle.Window; got.LastBlock != 103 {
		t.Errorf("%+v: the lower bound counts", got)
	}
}

// Who says nothing about hints shares what is usual; who says none shares none.
func TestPrivateHints(t *testing.T) {
	for preferences, want := range map[string]orderflow.Hints{
		`null`:                       defaultHints,
		`{}`:                         defaultHints,
		`{"privacy":null}`:           defaultHints,
		`{"privacy":{}}`:             defaultHints,
		`{"privacy":{"hints":null}}`: defaultHints,
		`{"privacy":{"hints":[]}}`:   0,
		`{"privacy":{"hints":["full","special_logs"]}}`: orderflow.Hash | orderflow.Full | orderflow.DefaultLogs,
	} {
		if got := sendPrivate(t, `,"preferences":`+preferences).Bundle.Hints; got != want {
			t.Errorf("%s: hints %b, want %b", preferences, got, want)
		}
	}
}

// fast sends to everybody and gives half back, unless the operator does not honour it.
func TestPrivateFast(t *testing.T) {
	const fast = `,"preferences":{"fast":true,"privacy":{"builders":["Titan"]}}`
	given := sendPrivate(t, fast)
	if !given.AllBuilders || given.Bundle.WantRefundPercent != 50 ||
		!reflect.DeepEqual(given.Builders, []string{"titan"}) {
		t.Errorf("%+v", given)
	}
	in := intake()
	in.Limits.FastEnabled = false
	order, err := ReadSendPrivate(fill(`[{"tx":"$A"`+fast+`}]`), in)
	if err != nil || order.AllBuilders || order.Bundle.WantRefundPercent != 90 {
		t.Errorf("%+v, %v", order, err)
	}
}

// Refunds by address are percentages of the whole value, with fast or without; the split of a
// refund is of what is usual. Entries for elements, which other methods know, do not count here.
func TestPrivateShares(t *testing.T) {
	other := common.HexToAddress("0x2222222222222222222222222222222222222222")
	at := func(percent int) []rpc.Share { return []rpc.Share{{Address: recipient, Percent: percent}} }
	type terms struct {
		percent, fast int
		shares        []rpc.Share
	}
	usual := func(shares []rpc.Share) terms { return terms{90, 50, shares} }
	whole := func(shares []rpc.Share) terms { return terms{100, 100, shares} }
	for validity, want := range map[string]terms{
		`null`:                            usual(nil),
		`{}`:                              usual(nil),
		`{"refund":[],"refundConfig":[]}`: usual(nil),
		`{"refund":[{"address":"@","percent":"0x5a"}]}`:                                            whole(at(90)),
		`{"refund":[{"address":"@","percent":0}]}`:                                                 whole(at(0)),
		`{"refund":[{"bodyIdx":0,"percent":50}]}`:                                                  usual(nil),
		`{"refund":[{"bodyIdx":0,"percent":50}],"refundConfig":[{"address":"@","percent":100}]}`:   usual(at(100)),
		`{"refund":[{"address":"@","percent":40}],"refundConfig":[{"address":"@","percent":100}]}`: whole(at(40)),
		`{"refund":[{"address":"@","percent":40},{"address":"$O","percent":60}]}`: whole(append(at(40),
			rpc.Share{Address: other, Percent: 60})),
		`{"refund":[{"address":"@","percent":40},{"bodyIdx":0,"percent":100}]}`: whole(at(40)),
	} {
		validity = strings.ReplaceAll(validity, "$O", other.Hex())
		for fast, percent := range map[string]int{"false": want.percent, "true": want.fast} {
			b := sendPrivate(t, `,"preferences":{"fast":`+fast+`,"validity":`+validity+`}`).Bundle
			if b.WantRefundPercent != percent || !reflect.DeepEqual(b.Shares, want.shares) {
				t.Errorf("%s, fast %s: %d %%, %+v; want %+v", validity, fast, b.WantRefundPercent, b.Shares, want)
			}
		}
	}
}
