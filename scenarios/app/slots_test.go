package app

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/devnet/beacon"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/scenarios"
)

// Each row is what the committee says of a payload that the chain leaves out, and the cause that is
// told; half of the committee is no majority.
func TestCauses(t *testing.T) {
	for _, c := range []struct {
		revealed           bool
		present, available int
		want               string
	}{
		{false, 0, 0, scenarios.Withheld}, {false, 4, 4, scenarios.Withheld}, {true, 0, 0, scenarios.Unseen},
		{true, 2, 2, scenarios.Unseen}, {true, 3, 2, scenarios.NoBlobs}, {true, 4, 0, scenarios.NoBlobs}, {true, 3, 3, ""},
	} {
		got := causeOf(&beacon.Sale{Revealed: c.revealed, Present: c.present, Available: c.available, Members: 4})
		if got != c.want {
			t.Errorf("revealed %v, %d present, %d available: %q, want %q", c.revealed, c.present, c.available, got, c.want)
		}
	}
}

// A block that a builder with stake has sold is its own: landed with its payload for what the stake
// pays, else as it was. Blocks of relays and proposers stay what they are.
func TestSoldByStake(t *testing.T) {
	l := &planRun{network: &network.Network{Config: network.Config{Relays: 1, Stakes: []network.Stake{{Builder: 1}}}}}
	for _, c := range []struct {
		sale *beacon.Sale
		want scenarios.Record
	}{
		{nil, scenarios.Record{ID: scenarios.Local}},
		{&beacon.Sale{Full: true, Builder: gloas.SelfBuild}, scenarios.Record{ID: scenarios.Local}},
		{&beacon.Sale{Full: true, Builder: 0, ValueGwei: 5}, scenarios.Record{ID: scenarios.Local}},
		{&beacon.Sale{Full: true, Builder: 1, ValueGwei: phase0.Gwei(5)}, scenarios.Record{ID: scenarios.Landed,
			About: "builder-2", ValueWei: "5000000000"}},
		{&beacon.Sale{Builder: 1, ValueGwei: 5}, scenarios.Record{ID: scenarios.Local, About: "builder-2"}},
	} {
		r := scenarios.Record{ID: scenarios.Local}
		if l.sold(&r, c.sale); r.ID != c.want.ID || r.About != c.want.About || r.ValueWei != c.want.ValueWei {
			t.Errorf("%+v: %+v, want %+v", c.sale, r, c.want)
		}
	}
}

// A withdrawal pays for a sale only if builder, amount and recipient are the sale's, to the Gwei.
func TestPaidForASale(t *testing.T) {
	payee := bellatrix.ExecutionAddress{1}
	sale := &beacon.Sale{Builder: 1, ValueGwei: 700}
	paid := network.Withdrawal{Builder: 1, Amount: 700, To: common.Address(payee)}
	if !isFor(sale, payee, paid) {
		t.Error("what was promised is not owed")
	}
	for name, change := range map[string]func(*network.Withdrawal){
		"a Gwei less":       func(w *network.Withdrawal) { w.Amount-- },
		"another builder's": func(w *network.Withdrawal) { w.Builder++ },
		"somebody else's":   func(w *network.Withdrawal) { w.To[0]++ },
	} {
		wrong := paid
		if change(&wrong); isFor(sale, payee, wrong) {
			t.Errorf("%s is owed", name)
		}
	}
	if isFor(nil, payee, paid) || isFor(new(beacon.Sale), bellatrix.ExecutionAddress{}, network.Withdrawal{}) {
		t.Error("something is owed for nothing")
	}
}

// While a fault says so, no payload can be published; everything else goes on, also reading
// payloads.
func TestEnvelopesAreRefused(t *testing.T) {
	l := new(planRun)
	handler := l.refusingEnvelopes(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, c := range []struct {
		fault        bool
		method, path string
		want         int
	}{
		{false, http.MethodPost, envelopesPath, http.StatusOK},
		{true, http.MethodPost, envelopesPath, http.StatusServiceUnavailable},
		{true, http.MethodGet, envelopesPath + "/head", http.StatusOK},
		{true, http.MethodPost, "/eth/v2/beacon/blocks", http.StatusOK},
	} {
		l.refusesEnvelopes.Store(c.fault)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(c.method, c.path, http.NoBody))
		if answer.Code != c.want {
			t.Errorf("fault %v, %s %s: status %d, want %d", c.fault, c.method, c.path, answer.Code, c.want)
		}
	}
}
