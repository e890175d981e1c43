package app

import (
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/rpc"
)

// Every fact that there is can be read again, as the same type.
func TestEveryFactCanBeReadAgain(t *testing.T) {
	source, err := parser.ParseFile(token.NewFileSet(), "../fact.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	facts := 0
	for _, declaration := range source.Decls {
		if method, ok := declaration.(*ast.FuncDecl); ok && method.Name.Name == "Subject" {
			facts++
		}
	}
	if facts == 0 || facts != len(decoders) {
		t.Errorf("%d kinds of facts, %d can be read", facts, len(decoders))
	}
	for subject, decode := range decoders {
		fact, later, err := decode([]byte("{}"))
		if err != nil || later || subjectPrefix+fact.Subject() != subject || reflect.TypeOf(fact).Kind() != reflect.Struct {
			t.Errorf("%s is read as %T, %v", subject, fact, err)
		}
	}
	ignored := func(rpc.Fact, rpc.Fact) { t.Error("a fact was read") }
	if err := decodeFacts("rpc.unknown", nil, ignored); err != nil {
		t.Errorf("an unknown one: %v", err)
	}
	for _, nonsense := range []string{"", "[", "{", `"`} {
		if err := decodeFacts(subjectPrefix+rpc.OrderEnded{}.Subject(), []byte(nonsense), ignored); err == nil {
			t.Errorf("%q is read", nonsense)
		}
	}
}

// Orders that come together share messages of the journal, and come out of it as they were, each in
// its place among the others.
func TestFactsShareMessages(t *testing.T) {
	kept, err := journal.Open(t.Context(), journal.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := kept.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	var told, wrote []rpc.Fact
	written := newFacts(kept, slog.New(slog.DiscardHandler), func(fact rpc.Fact) { told = append(told, fact) })
	at := time.Unix(1_800_000_000, 123).UTC()
	for i := range uint64(300) {
		order := &rpc.Order{ID: i, Kind: rpc.KindBundle, ReceivedAt: at,
			Bundle: rpc.Bundle{Elements: []rpc.Element{{Tx: &rpc.Transaction{Raw: make([]byte, i)}}}}}
		wrote = append(wrote, rpc.OrderAccepted{At: at, Order: order})
		if i%100 == 99 {
			wrote = append(wrote, rpc.OrderReturned{At: at, OrderRef: order.Ref()})
		}
		if i%100 == 0 { // two in a row
			shared := rpc.OrderShared{ID: i, Shared: orderflow.Shared{At: at, Block: i}}
			wrote = append(wrote, shared, shared)
		}
	}
	for _, fact := range wrote {
		written.Record(fact)
	}
	if err := written.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := kept.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var read []rpc.Fact
	strangers := 0
	err = kept.Past(t.Context(), 1, slices.Sorted(maps.Keys(decoders)),
		func(_ time.Time, subject string, data []byte) error {
			if subject == orderflow.SharedSubject { // the stream knows no lists
				var shared orderflow.Shared
				if err := json.Unmarshal(data, &shared); err != nil {
					return err
				}
				strangers++
			}
			return decodeFacts(subject, data, func(fact, kept rpc.Fact) { read = append(read, kept) })
		})
	if err != nil || !reflect.DeepEqual(read, wrote) || !reflect.DeepEqual(told, wrote) {
		t.Errorf("%v; %d facts were written, %d told, %d read", err, len(wrote), len(told), len(read))
	}
	if strangers != 6 {
		t.Errorf("the stream reads %d facts, want 6", strangers)
	}
	if messages, err := kept.Last(t.Context()); err != nil || messages > 40 {
		t.Errorf("%d messages, %v", messages, err)
	}
}

// A cancel is answered when it is synced, so that a power cut does not bring the order back; an
// order is not worth it, since it is nobody's after the cut. What cannot be synced is not promised.
func TestCancelsAreSynced(t *testing.T) {
	j, err := journal.Open(t.Context(), journal.Config{})
	must(t, err)
	defer func() { must(t, j.Close(context.Background())) }()
	f := newFacts(j, slog.New(slog.DiscardHandler), nil)
	defer func() { must(t, f.Close(context.Background())) }()
	last := func() uint64 {
		seq, err := j.Last(t.Context())
		must(t, err)
		return seq
	}
	for name, c := range map[string]struct {
		facts  []rpc.Fact
		synced bool
	}{
		"an order":            {[]rpc.Fact{rpc.OrderAccepted{Order: &rpc.Order{}}}, false},
		"the end of an order": {[]rpc.Fact{rpc.OrderEnded{State: rpc.Landed}}, false},
		"a cancelled order":   {[]rpc.Fact{rpc.OrderEnded{State: rpc.Cancelled}}, true},
		"a cancel":            {[]rpc.Fact{rpc.CancelNoted{}}, true},
		"a version for the other": {[]rpc.Fact{rpc.OrderEnded{State: rpc.Cancelled}, rpc.OrderAccepted{Order: &rpc.Order{}}},
			true},
	} {
		var there []uint64 // facts that the journal had when it was synced
		k := keeper{f, &snapshots{}, func() error {
			there = append(there, last())
			return nil
		}}
		before := last()
		must(t, k.Keep(c.facts...)())
		if synced := len(there) == 1 && there[0] > before; synced != c.synced {
			t.Errorf("%s: synced at %d facts behind %d, want it synced: %t", name, there, before, c.synced)
		}
		k.sync = func() error { return errors.New("the disk is gone") }
		var refused *rpc.Refused
		if got := errors.As(k.Keep(c.facts...)(), &refused); got != c.synced || got &&
			refused.ID != rpc.JournalUnavailable.ID {
			t.Errorf("%s: refused: %t, %v on a disk that cannot sync", name, got, refused)
		}
	}
}
