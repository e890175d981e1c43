package node

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
)

// busy is a node that takes 300 ms for a block.
func busy(*http.Request) (string, error) {
	time.Sleep(300 * time.Millisecond)
	return goodBody, nil
}

// blockFrom is a block that somebody has executed.
func blockFrom(priority exec.Priority, address string, key byte, wei uint64) *exec.Block {
	b := filled(eth.Fulu, 0, 0)
	b.Priority, b.Source, b.ValueWei = priority, exec.Source{Address: address, Key: phase0.BLSPubKey{key}},
		uint256.NewInt(wei)
	trace := *b.Trace
	trace.Value = b.ValueWei
	b.Trace = &trace
	return b
}

// crowd keeps sending blocks from many connections until the returned function is called.
func crowd(t *testing.T, p *Pool, connections int, block func(i, round int) *exec.Block) (stop func()) {
	t.Helper()
	var group sync.WaitGroup
	done := make(chan struct{})
	for i := range connections {
		group.Go(func() {
			for round := 0; ; round++ {
				select {
				case <-done:
					return
				default:
				}
				if v := p.Validate(t.Context(), block(i, round)); v.Rule == exec.RuleCrowded {
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
	synctest.Wait()
	return func() { close(done); group.Wait() }
}

// took is how long a block takes that comes now.
func took(t *testing.T, p *Pool, b *exec.Block) time.Duration {
	t.Helper()
	before := time.Now()
	expect(t, p.Validate(t.Context(), b), exec.Valid, "")
	return time.Since(before)
}

// Sixty connections with new keys and huge values take nobody's turn: strangers at other addresses
// wait for one block of theirs, and known builders find a place at once.
func TestCrowdOfOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := poolOf(t, Config{}, busy)
		stop := crowd(t, p, 60, func(i, round int) *exec.Block {
			b := blockFrom(exec.Normal, "6.6.6.6", 0, 1<<62)
			copy(b.Source.Key[:], fmt.Sprintf("%d %d", i, round))
			return b
		})
		defer stop()
		for range 5 {
			if wait := took(t, p, blockFrom(exec.Normal, "1.1.1.1", 1, 1000)); wait > 700*time.Millisecond {
				t.Errorf("an honest stranger's block took %v", wait)
			}
			if wait := took(t, p, blockFrom(exec.Known, "2.2.2.2", 2, 1000)); wait > 300*time.Millisecond {
				t.Errorf("a known builder's block took %v", wait)
			}
		}
	})
}

// Sixty addresses have a turn each before an honest stranger has one again; those that were invalid
// come last then.
func TestCrowdOfManyAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := poolOf(t, Config{}, busy)
		var mu sync.Mutex
		priority := exec.Normal
		stop := crowd(t, p, 60, func(i, _ int) *exec.Block {
			mu.Lock()
			defer mu.Unlock()
			return blockFrom(priority, fmt.Sprint("6.6.6.", i), byte(i), 1<<62)
		})
		defer stop()
		wait := took(t, p, blockFrom(exec.Normal, "1.1.1.1", 1, 1000))
		if wait > 61*100*time.Millisecond+300*time.Millisecond {
			t.Errorf("the first block took %v, want one turn of everybody", wait)
		}
		if wait := took(t, p, blockFrom(exec.Known, "2.2.2.2", 2, 1000)); wait > 300*time.Millisecond {
			t.Errorf("a known builder's block took %v", wait)
		}
		mu.Lock()
		priority = exec.Last // as the relay has them once a block of theirs was invalid
		mu.Unlock()
		time.Sleep(61 * 100 * time.Millisecond)
		if wait := took(t, p, blockFrom(exec.Normal, "1.1.1.1", 1, 1000)); wait > 700*time.Millisecond {
			t.Errorf("behind addresses whose blocks were invalid it took %v", wait)
		}
	})
}

// Known builders that keep all places busy leave each fourth to strangers.
func TestStrangersShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := poolOf(t, Config{}, busy)
		stop := crowd(t, p, 40, func(i, _ int) *exec.Block { return blockFrom(exec.High, "2.2.2.2", byte(i), 9) })
		defer stop()
		for range 5 {
			if wait := took(t, p, blockFrom(exec.Normal, "1.1.1.1", 1, 1)); wait > 900*time.Millisecond {
				t.Errorf("a stranger's block took %v", wait)
			}
		}
	})
}

// One key, one address and all strangers have a bounded place in the queue; a claimed value helps
// known builders only.
func TestQueueSheds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := poolOf(t, Config{PerNode: 1}, busy)
		var mu sync.Mutex
		crowded := map[string]int{}
		var group sync.WaitGroup
		send := func(name string, b *exec.Block) {
			group.Go(func() {
				if p.Validate(t.Context(), b).Rule == exec.RuleCrowded {
					mu.Lock()
					defer mu.Unlock()
					crowded[name]++
				}
			})
			synctest.Wait()
		}
		send("running", blockFrom(exec.Known, "", 0, 1))
		for i := range 2 * waitingOfKey {
			send("one key", blockFrom(exec.Normal, "1.1.1.1", 1, uint64(i)))
		}
		for i := range 2 * waitingOfAddress {
			send("one address", blockFrom(exec.Normal, "6.6.6.6", byte(10+i), 1<<62))
		}
		send("another", blockFrom(exec.Normal, "3.3.3.3", 3, 1))
		for i := range waitingOfBuilder {
			send("builder", blockFrom(exec.Known, "2.2.2.2", 2, uint64(100+i)))
		}
		send("builder's worst", blockFrom(exec.Known, "2.2.2.2", 2, 1))
		send("builder's best", blockFrom(exec.Known, "2.2.2.2", 2, 9999))
		group.Wait()
		want := map[string]int{"one key": waitingOfKey, "one address": waitingOfAddress, "builder's worst": 1, "builder": 1}
		for name, n := range crowded {
			if n != want[name] {
				t.Errorf("%s: %d sent away, want %d", name, n, want[name])
			}
		}
		if len(crowded) != len(want) {
			t.Errorf("sent away %v, want %v", crowded, want)
		}
		if len(p.waiting) != 0 {
			t.Errorf("%d still wait", len(p.waiting))
		}
	})
}
