package user

import (
	"reflect"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
)

// What users send follows from seed and slot, differs between them, and varies within a slot.
func TestHabits(t *testing.T) {
	h := habits{perSlot: 80, blobEvery: 4, seed: 7}
	first := h.decide(8, eth.Fulu)
	if !reflect.DeepEqual(first, h.decide(8, eth.Fulu)) {
		t.Error("the same situation gives another decision")
	}
	if reflect.DeepEqual(first, h.decide(12, eth.Fulu)) ||
		reflect.DeepEqual(first, habits{perSlot: 80, blobEvery: 4, seed: 8}.decide(8, eth.Fulu)) {
		t.Error("slots or seeds are the same")
	}
	calls, tips, to := 0, map[int64]bool{}, map[common.Address]bool{}
	for _, one := range first.transfers {
		tips[one.tipWei.Int64()], to[one.to] = true, true
		if one.valueWei.Sign() <= 0 || one.tipWei.Int64() > 5*params.GWei || one.gas < params.TxGas {
			t.Errorf("%+v", one)
		}
		if len(one.data) > 0 {
			calls++
		}
	}
	if len(first.transfers) != 80 || calls == 0 || calls > 30 || len(tips) < 20 || len(to) < 70 {
		t.Errorf("%d transfers, %d calls, %d tips, %d recipients", len(first.transfers), calls, len(tips), len(to))
	}
}

// Each row is a slot before a fork, and whether a blob is sent in it.
func TestBlobHabits(t *testing.T) {
	for _, c := range []struct {
		every int
		slot  uint64
		next  eth.Fork
		blob  bool
	}{
		{4, 8, eth.Fulu, true}, {4, 9, eth.Fulu, false}, {1, 9, eth.Fulu, true}, {1, 9, eth.Electra, false},
		{0, 8, eth.Fulu, false},
	} {
		d := habits{blobEvery: c.every, seed: 1}.decide(c.slot, c.next)
		if d.blob != c.blob || d.sidecar < 0 || d.sidecar >= chain.FixedBlobs {
			t.Errorf("every %d, slot %d before %s: blob %v of sidecar %d", c.every, c.slot, c.next, d.blob, d.sidecar)
		}
	}
}
