package world

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
)

// A world can have the times of a public network, and its beacon node says of it what such a node
// says: every fork of the past with a version of its own, and a list of blob limits.
func TestAWorldLikePublicNetworks(t *testing.T) {
	w, client := Running(t, Config{Slot: 12 * time.Second, SlotsPerEpoch: 32, Validators: 16, BlobsLater: true})
	f := client.Facts
	if f.SlotMs != 12_000 || f.SlotsPerEpoch != 32 || len(f.ValidatorKeys) != 16 || f.Stranger() != 15 ||
		f.Restless() != 14 {
		t.Errorf("slots of %d ms, %d to an epoch, %d validators", f.SlotMs, f.SlotsPerEpoch, len(f.ValidatorKeys))
	}
	if got, least := f.Patience(), 2*16*12*time.Second; got < least {
		t.Errorf("a spec waits %s for a slot, want two rounds of all validators: %s", got, least)
	}
	var spec struct {
		Data map[string]any `json:"data"`
	}
	w.beacon(t, "/eth/v1/config/spec", &spec)
	if spec.Data["SECONDS_PER_SLOT"] != "12" || spec.Data["SLOTS_PER_EPOCH"] != "32" {
		t.Errorf("the node has slots of %v s, %v to an epoch", spec.Data["SECONDS_PER_SLOT"], spec.Data["SLOTS_PER_EPOCH"])
	}
	if list, _ := spec.Data["BLOB_SCHEDULE"].([]any); len(list) == 0 {
		t.Error("BLOB_SCHEDULE is empty")
	}
	var schedule struct {
		Data []map[string]string `json:"data"`
	}
	w.beacon(t, "/eth/v1/config/fork_schedule", &schedule)
	versions := map[string]bool{}
	for _, fork := range schedule.Data {
		versions[fork["current_version"]] = true
	}
	for _, name := range []string{"GENESIS", "ALTAIR", "BELLATRIX", "CAPELLA", "DENEB", "ELECTRA", "FULU"} {
		if version, _ := spec.Data[name+"_FORK_VERSION"].(string); !versions[version] {
			t.Errorf("fork_schedule has no %s, whose version is %q", name, version)
		}
	}
	if len(versions) != 7 {
		t.Errorf("%d versions for 7 forks", len(versions))
	}
}

// beacon asks the world's beacon node.
func (w *World) beacon(t *testing.T, path string, into any) {
	t.Helper()
	answer, err := w.client.Do(t.Context(), probe.Request{Method: http.MethodGet, Path: path})
	if err != nil || answer.Status != http.StatusOK {
		t.Fatalf("%s: %v %v", path, answer, err)
	}
	if err := json.Unmarshal(answer.Body, into); err != nil {
		t.Fatal(err)
	}
}

func TestTimesOfAWorldAreBounded(t *testing.T) {
	for _, bad := range []Config{{SlotsPerEpoch: 1}, {SlotsPerEpoch: 257}, {Validators: 3}, {Validators: 513},
		{Slot: 1500 * time.Millisecond}} {
		if bad.Check() == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// A second fork is later than the first one, and begins after genesis.
func TestForksOfAWorldAreInOrder(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want bool
	}{
		{Config{Fork: eth.Electra, Next: eth.Fulu, NextEpoch: 1}, true},
		{Config{Fork: eth.Bellatrix, Next: eth.Deneb, NextEpoch: 3}, true}, // forks may be left out
		{Config{Fork: eth.Electra, Next: eth.Fulu}, false},
		{Config{Fork: eth.Fulu, Next: eth.Fulu, NextEpoch: 1}, false},
		{Config{Next: eth.Fulu, NextEpoch: 1}, false}, // the first fork is fulu by default
		{Config{Fork: eth.Fulu, Next: eth.Electra, NextEpoch: 1}, false},
		{Config{Fork: eth.Electra, Next: eth.Fulu + 100, NextEpoch: 1}, false},
	} {
		if err := c.cfg.Check(); (err == nil) != c.want {
			t.Errorf("%s, and %s from epoch %d on: %v", c.cfg.Fork, c.cfg.Next, c.cfg.NextEpoch, err)
		}
	}
}

// The fork and the version that signatures are made under change with the first slot of the epoch.
func TestAWorldSaysTheForkOfEachSlot(t *testing.T) {
	w, err := New(Config{Fork: eth.Electra, Next: eth.Fulu, NextEpoch: 2, Slot: time.Second, BlobsLater: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	for slot, want := range map[phase0.Slot]eth.Fork{0: eth.Electra, 15: eth.Electra, 16: eth.Fulu, 17: eth.Fulu} {
		fork, version := w.Facts.ForkAt(slot)
		wantVersion := w.Spec().ForkPointAt(w.Spec().EpochOf(slot)).Version
		if fork != want || version != fmt.Sprintf("%#x", wantVersion[:]) {
			t.Errorf("slot %d is of %s, %s; want %s, %#x", slot, fork, version, want, wantVersion)
		}
	}
	genesis := w.Facts.At(0)
	for after, want := range map[time.Duration]phase0.Slot{0: 1, 999 * time.Millisecond: 1, time.Second: 2} {
		if got := w.Facts.SlotAfter(genesis.Add(after)); got != want {
			t.Errorf("%s after genesis the next slot is %d, want %d", after, got, want)
		}
	}
}

// Builders behind an RPC of the same operator are often sent orders without a signature. A wrong
// one is refused all the same.
func TestBuildersTakeUnsignedOrders(t *testing.T) {
	w, err := New(Config{Slot: time.Second, BlobsLater: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	handler := w.builders.Handler()
	for signature, want := range map[string]int{"": http.StatusOK, "0x01:0x02": http.StatusForbidden} {
		body := probe.Call{ID: 1, Method: "eth_cancelBundle", Params: []any{map[string]string{
			"replacementUuid": "2b1b9a1c-6b0e-4f5e-9d59-0d0f6a4c7b11"}}}.Body()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/default", strings.NewReader(string(body)))
		r.Header.Set("Content-Type", "application/json")
		if signature != "" {
			r.Header.Set(probe.SignatureHeader, signature)
		}
		answer := httptest.NewRecorder()
		if handler.ServeHTTP(answer, r); answer.Code != want {
			t.Errorf("signature %q: %d %s, want %d", signature, answer.Code, answer.Body, want)
		}
	}
}

func TestAnAddressIsOneThatIsReached(t *testing.T) {
	for listens, want := range map[string]string{
		"[::]:9191": "127.0.0.1:9191", "0.0.0.0:80": "127.0.0.1:80", "10.1.2.3:9191": "10.1.2.3:9191",
		"localhost:9191": "localhost:9191",
	} {
		if got := reachableAddress(listens); got != want {
			t.Errorf("%s is reached at %s, want %s", listens, got, want)
		}
	}
}
