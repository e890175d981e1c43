package bundle

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/rpc"
)

var (
	double = common.Hash{0xd0}
	named  = common.Hash{0xba}
	theirs = &rpc.Transaction{Hash: common.Hash{1}, Raw: []byte{1}, From: common.Address{1}}
	mine   = &rpc.Transaction{Hash: common.Hash{2}, Raw: []byte{2}, From: common.Address{2}}
)

// target is a private transaction for the blocks 5 to 8, of which strangers know the hash.
func target() *rpc.Order {
	return &rpc.Order{
		ID: 7, Kind: rpc.KindPrivate, Signer: common.Address{0xaa},
		Bundle: rpc.Bundle{
			Hash: theirs.Hash, Elements: []rpc.Element{{Tx: theirs}}, Window: rpc.Window{FirstBlock: 5, LastBlock: 8},
			WantRefundPercent: 90,
			Hints:             orderflow.Hash | orderflow.Calldata,
		},
	}
}

// backrun is [{hash}, {tx}] for the blocks 7 to 9.
func backrun() *rpc.Order {
	return &rpc.Order{
		Kind: rpc.KindShare, Signer: common.Address{0xbb},
		Bundle: rpc.Bundle{Hash: named, Elements: []rpc.Element{{Match: &double}, {Tx: mine}},
			Window: rpc.Window{FirstBlock: 7, LastBlock: 9}},
	}
}

// TestJoin: the whole result, so that nothing comes along that was not meant to.
func TestJoin(t *testing.T) {
	order, other := backrun(), target()
	if wanted := WantedMatch(order); wanted == nil || *wanted != double || WantedMatch(other) != nil {
		t.Errorf("wanted %v and %v", wanted, WantedMatch(other))
	}
	joined, err := JoinMatch(order, other)
	if err != nil {
		t.Fatal(err)
	}
	want := &rpc.Order{
		Kind: rpc.KindShare, Signer: common.Address{0xbb}, Follows: 7,
		Bundle: rpc.Bundle{
			Hash: named, Window: rpc.Window{FirstBlock: 7, LastBlock: 8},
			Refunds: []rpc.ElementRefund{{Element: 0, Percent: 90}},
			Elements: []rpc.Element{
				{Bundle: &rpc.Bundle{Hash: theirs.Hash, Elements: []rpc.Element{{Tx: theirs}}, WantRefundPercent: 90}}, {Tx: mine},
			},
		},
	}
	if !reflect.DeepEqual(joined, want) {
		t.Errorf("got  %+v\nwant %+v", joined, want)
	}
	if !reflect.DeepEqual(order, backrun()) || !reflect.DeepEqual(other, target()) {
		t.Error("it changed what it was given")
	}
	if WantedMatch(joined) != nil {
		t.Error("it still follows a hash")
	}
}

// TestPercent: what the target wants, whoever it is for.
func TestPercent(t *testing.T) {
	for name, c := range map[string]struct {
		wants int
		want  []rpc.ElementRefund
	}{
		"a part":    {42, []rpc.ElementRefund{{Element: 0, Percent: 42}}},
		"all of it": {100, []rpc.ElementRefund{{Element: 0, Percent: 100}}},
		"nothing":   {0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			other := target()
			other.Bundle.WantRefundPercent = c.wants
			joined, err := JoinMatch(backrun(), other)
			if err != nil {
				t.Fatal(err)
			}
			if got := joined.Bundle.Refunds; !slices.Equal(got, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// nested is a bundle with so many bundles in one another, itself included.
func nested(deep int) rpc.Bundle {
	b := rpc.Bundle{Elements: []rpc.Element{{Tx: theirs}}, Hints: orderflow.Hash,
		Window: rpc.Window{FirstBlock: 5, LastBlock: 8}}
	for range deep - 1 {
		inside := b
		b.Elements = []rpc.Element{{Bundle: &inside}, {Tx: theirs}}
	}
	return b
}

func TestMatchRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(order, target *rpc.Order)
		want   string
	}{
		"shares nothing": {func(_, target *rpc.Order) { target.Bundle.Hints = 0 }, rpc.BackrunInvalidBundle.ID},
		"not its hash": {func(_, target *rpc.Order) {
			target.Bundle.Hints = orderflow.Logs
		}, rpc.BackrunInvalidBundle.ID},
		"as deep as can be": {func(_, target *rpc.Order) { target.Bundle = nested(4) }, ""},
		"too deep":          {func(_, target *rpc.Order) { target.Bundle = nested(5) }, rpc.BackrunInvalidBundle.ID},
		"its blocks before": {func(_, target *rpc.Order) {
			target.Bundle.Window.LastBlock = 6
		}, rpc.BackrunInvalidInclusion.ID},
		"its blocks after": {func(_, target *rpc.Order) {
			target.Bundle.Window = rpc.Window{FirstBlock: 10, LastBlock: 12}
		}, rpc.BackrunInvalidInclusion.ID},
		"the last one": {func(_, target *rpc.Order) { target.Bundle.Window.LastBlock = 7 }, ""},
		"another time": {func(o, target *rpc.Order) {
			o.Bundle.Window.MaxTimestamp, target.Bundle.Window.MinTimestamp = 9, 10
		}, rpc.BackrunInvalidInclusion.ID},
		"the same second": {func(o, target *rpc.Order) {
			o.Bundle.Window.MaxTimestamp, target.Bundle.Window.MinTimestamp = 10, 10
		}, ""},
		"only one has times": {func(o, _ *rpc.Order) { o.Bundle.Window.MaxTimestamp = 10 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			order, other := backrun(), target()
			c.change(order, other)
			joined, err := JoinMatch(order, other)
			var refused *rpc.Refused
			switch errors.As(err, &refused); {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (refused == nil || refused.ID != c.want || joined != nil):
				t.Errorf("%v, want %s", err, c.want)
			case c.want != "" && refused.Detail != "":
				t.Errorf("it tells of the other order: %s", refused.Detail)
			}
		})
	}
}

// TestBuilders: whoever gets the joined order may have both.
func TestBuilders(t *testing.T) {
	type list struct {
		names []string
		all   bool
	}
	for name, c := range map[string]struct{ order, target, want list }{
		"nobody is named":     {list{}, list{}, list{}},
		"only one names some": {list{names: []string{"a"}}, list{}, list{}},
		"some of both":        {list{names: []string{"a", "b"}}, list{names: []string{"b", "c"}}, list{names: []string{"b"}}},
		"the target all":      {list{names: []string{"a"}}, list{all: true}, list{names: []string{"a"}}},
		"the order all":       {list{all: true}, list{names: []string{"c"}}, list{names: []string{"c"}}},
		"both all": {list{all: true}, list{names: []string{"c"}, all: true},
			list{names: []string{"c"}, all: true}},
	} {
		t.Run(name, func(t *testing.T) {
			order, other := backrun(), target()
			order.Builders, order.AllBuilders = c.order.names, c.order.all
			other.Builders, other.AllBuilders = c.target.names, c.target.all
			joined, err := JoinMatch(order, other)
			if err != nil {
				t.Fatal(err)
			}
			if joined.AllBuilders != c.want.all || len(joined.Builders) != len(c.want.names) ||
				len(c.want.names) > 0 && !reflect.DeepEqual(joined.Builders, c.want.names) {
				t.Errorf("%v %t", joined.Builders, joined.AllBuilders)
			}
		})
	}
}

// A block may have the joined order exactly if it may have each of both.
func TestWindowIsBoth(t *testing.T) {
	few := rapid.Uint64Range(0, 5)
	windows := rapid.Custom(func(t *rapid.T) rpc.Window {
		return rpc.Window{
			FirstBlock: few.Draw(t, "first"), LastBlock: few.Draw(t, "last"), MinTimestamp: few.Draw(t, "min"),
			MaxTimestamp: few.Draw(t, "max"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		order, other := backrun(), target()
		order.Bundle.Window, other.Bundle.Window = windows.Draw(t, "order"), windows.Draw(t, "target")
		joined, err := JoinMatch(order, other)
		for block := range uint64(6) {
			for timestamp := range uint64(6) {
				both := order.Bundle.Window.Holds(block, timestamp) && other.Bundle.Window.Holds(block, timestamp)
				if got := err == nil && joined.Bundle.Window.Holds(block, timestamp); got != both {
					t.Fatalf("block %d at %d: %t, want %t (%v)", block, timestamp, got, both, err)
				}
			}
		}
	})
}
