package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

// backrunOf is a bundle that follows an order by its double hash, with a transaction of its own.
func backrunOf(target *rpc.Order, signer common.Address, number, first, last uint64) *rpc.Order {
	own := orderOf(signer, number, first, last)
	double := crypto.Keccak256Hash(target.Bundle.Hash[:])
	own.Kind = rpc.KindShare
	own.Bundle.Elements = []rpc.Element{{Match: &double}, own.Bundle.Elements[0]}
	own.Bundle.Hash = crypto.Keccak256Hash(double[:], own.Bundle.Elements[1].Tx.Hash[:])
	return own
}

func (s *lifecycleTest) refused(order *rpc.Order, want rpc.Refusal) {
	s.t.Helper()
	if _, err := s.lifecycle.Submit(time.Now(), order); !isRefusal(err, want) {
		s.t.Errorf("%v, want %s", err, want.ID)
	}
}

// A shared order can be followed while it is alive; the answer names the bundle as it came, and the
// builder gets both transactions.
func TestMatch(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		target := sharing(version(alice, 1, 102, 110, 7))
		s.submit(target)
		s.want("accepted 1")
		s.refused(backrunOf(target, bob, 2, 101, 102), rpc.BackrunNotFound) // nobody was told of it
		s.mine(101)
		s.want("index 101", "simulated 1 for 102", "shared 1", "send 1 for 102", "sent 1 to b")
		s.refused(backrunOf(orderOf(alice, 9, 101, 110), bob, 2, 102, 102), rpc.BackrunNotFound)
		s.refused(backrunOf(target, bob, 2, 111, 112), rpc.BackrunInvalidInclusion)
		came := backrunOf(target, bob, 2, 102, 120)
		taken := s.submit(came)
		if taken.Follows != 1 || taken.Hash() != came.Hash() ||
			taken.Bundle.Window != (rpc.Window{FirstBlock: 102, LastBlock: 110}) {
			t.Errorf("%+v", taken)
		}
		s.want("accepted 2", "simulated 2 for 102", "send 2 for 102", "sent 2 to b") // strangers are not told of it
		if again := s.submit(backrunOf(target, bob, 2, 102, 120)); again != taken {
			t.Errorf("repeated it is order %d", again.ID)
		}
		s.want()
		s.cancel(alice)
		s.want("forget 1 at b", "forget 2 at b", "ended 1 cancelled", "ended 2 cancelled")
		s.refused(backrunOf(target, bob, 3, 102, 120), rpc.BackrunNotFound)
	})
}

// All that follow one order are tried. When it lands with one of them the others end, and know why;
// in another block all of them could be again.
func TestCompetingBackruns(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		target := sharing(orderOf(alice, 1, 101, 110))
		s.submit(target)
		first, second := backrunOf(target, bob, 2, 101, 110), backrunOf(target, carol, 3, 101, 110)
		s.takeLines()
		first, second = s.submit(first), s.submit(second)
		s.takeLines()
		landing := s.mine(101, first)
		s.want("index 101 with 1 with 2", "ended 1 landed", "ended 2 landed", "ended 3 failed")
		status := s.lifecycle.Status(carol, second.Hash())
		if status.State != rpc.Failed || status.Reason != "the order that it followed landed without it" {
			t.Errorf("%+v", status)
		}
		s.chain.mu.Lock()
		s.chain.head = s.chain.blocks[landing.ParentHash()]
		s.chain.mu.Unlock()
		s.mine(101, target) // another one in its place, where the target is alone
		s.want("returned 1", "returned 2", "returned 3", "revert 101", "index 101 with 1", "ended 1 landed",
			"ended 2 failed", "ended 3 failed")
	})
}

// Who follows an order that can never be included is taken back from builders with it.
func TestTargetFails(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		target := sharing(orderOf(alice, 1, 101, 110))
		s.submit(target)
		s.takeLines()
		follower := s.submit(backrunOf(target, bob, 2, 101, 110))
		s.takeLines()
		s.set(func() {
			s.results[target.Hash()] = failure("nonce too low", true)
			s.results[follower.Bundle.Elements[1].Tx.Hash] = failure("nonce too low: address 0x0a", false)
			s.hold = make(chan struct{})
		})
		s.mine(101)
		s.want("index 101")
		close(s.hold)
		if got := s.takeLines(); !strings.Contains(got, "simulated 1 for 102: nonce too low, ") ||
			!strings.Contains(got, "forget 2 at b") ||
			!strings.HasSuffix(got, "ended 2 failed, forget 1 at b") || strings.Contains(got, "0x0a") {
			t.Error(got)
		}
		status := s.lifecycle.Status(bob, follower.Hash())
		if status.Reason != "the order that it followed can never be included" {
			t.Errorf("%+v", status)
		}
	})
}

// What counts from a later block on, since a cancel came before it, is not sent earlier, nor is
// what follows it.
func TestNothingBeforeItsFirstBlock(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		s.submit(version(alice, 1, 101, 110, 7))
		s.takeLines()
		s.cancel(alice)
		s.takeLines()
		target := sharing(version(alice, 2, 101, 110, 7))
		s.submit(target)
		s.want("accepted 2")
		s.mine(101)
		s.want("index 101", "simulated 2 for 102", "shared 2", "send 2 for 102", "sent 2 to b")
	})
}

// A restart changes nothing: what was shared is not shared again and can be followed, and who
// follows goes with it.
func TestMatchAfterRestart(t *testing.T) {
	var facts []rpc.Fact
	target := sharing(version(alice, 1, 101, 110, 7))
	script(t, func(s *lifecycleTest) {
		s.submit(target)
		s.takeLines()
		s.submit(backrunOf(target, bob, 2, 101, 110))
		s.want("accepted 2", "simulated 2 for 101", "send 2 for 101", "sent 2 to b")
		facts = s.past
	})
	synctest.Test(t, func(t *testing.T) {
		s := newLifecycleTest(t)
		for _, fact := range facts {
			s.lifecycle.Apply(fact)
		}
		s.run()
		s.takeLines() // both are sent once more: nobody knows who has them
		s.submit(backrunOf(target, carol, 3, 101, 110))
		s.want("accepted 3", "simulated 3 for 101", "send 3 for 101", "sent 3 to b")
		s.mine(101)
		if got := s.takeLines(); strings.Contains(got, "shared") || strings.Count(got, "send ") != 3 {
			t.Error(got)
		}
		s.cancel(alice)
		s.want("forget 1 at b", "forget 2 at b", "forget 3 at b", "ended 1 cancelled", "ended 2 cancelled",
			"ended 3 cancelled")
		s.refused(backrunOf(target, carol, 4, 102, 110), rpc.BackrunNotFound)
	})
}

// TestOwnPart: of a backrun that is kept what its own transaction did, and nothing of the other
// one. No failure of it lasts.
func TestOwnPart(t *testing.T) {
	theirs, own := common.Hash{1}, common.Hash{2}
	order := &rpc.Order{Follows: 7, Bundle: rpc.Bundle{
		Elements: []rpc.Element{
			{Bundle: &rpc.Bundle{Elements: []rpc.Element{{Tx: &rpc.Transaction{Hash: theirs}}}}},
			{Tx: &rpc.Transaction{Hash: own}},
		},
		Refunds: []rpc.ElementRefund{{Element: 0, Percent: 90}},
	}}
	did := func(hashes ...common.Hash) (txs []exec.TxResult) {
		for _, hash := range hashes {
			txs = append(txs, exec.TxResult{Hash: hash, GasUsed: 1000 * uint64(hash[0])})
		}
		return txs
	}
	for name, c := range map[string]struct {
		seen        exec.BundleResult
		error       string
		gas, profit uint64
	}{
		"both work": {exec.BundleResult{Success: true, Txs: did(theirs, own)}, "", 2000, 11},
		"the other cannot be": {exec.BundleResult{Error: "nonce too low: address 0x01", FailedTx: theirs},
			leaderFailed, 0, 0},
		"the other fails": {exec.BundleResult{Error: "tx failed", FailedTx: theirs, Txs: did(theirs)},
			leaderFailed, 0, 0},
		"its own refunds": {exec.BundleResult{Error: "negative profit", Txs: did(theirs)}, leaderFailed, 0, 0},
		"its own cannot be": {exec.BundleResult{Error: "nonce too low: address 0x02", FailedTx: own, Txs: did(theirs)},
			"nonce too low: address 0x02", 0, 0},
		"its own fails": {exec.BundleResult{Error: "tx failed", FailedTx: own, Txs: did(theirs, own)},
			"tx failed", 2000, 0},
		"not worth its payout": {exec.BundleResult{Error: "negative profit", Txs: did(theirs, own)},
			"negative profit", 2000, 0},
		"nothing ran, no reason": {exec.BundleResult{Error: "invalid bundle"}, leaderFailed, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			found := rpc.Simulation{
				Block: 9, Success: c.seen.Success, Error: c.seen.Error, Lasting: true, GasUsed: 99_000,
				ProfitWei: uint256.NewInt(5000), RefundableWei: uint256.NewInt(101),
			}
			got := keepOwnPart(order, found, &c.seen)
			if got.Error != c.error || got.GasUsed != c.gas || got.ProfitWei.Uint64() != c.profit || got.Block != 9 ||
				got.Success != c.seen.Success || got.Lasting {
				t.Errorf("%+v", got)
			}
			if leads := keepOwnPart(&rpc.Order{}, found, &c.seen); leads != found {
				t.Errorf("of an order that follows none: %+v", leads)
			}
		})
	}
}

// Whenever the cancel of the target comes, with searchers who follow it and blocks in between:
// nothing that contains its transaction is sent after the cancel was acknowledged, whoever was sent
// such a thing is asked to forget it, and nobody is told of the target any more. Run it with -race.
func TestNoMatchIsSentAfterTheCancelOfItsTarget(t *testing.T) {
	matched := 0
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			script(t, func(s *lifecycleTest) {
				targets := raceMatches(s, rand.New(rand.NewPCG(seed, 1)))
				matched += checkMatches(t, strings.Split(s.takeLines(), ", "), s.past, targets)
			})
		})
	}
	if matched < 40 {
		t.Errorf("%d were matched in all: the cancels came too early", matched)
	}
}

// raceMatches has three searchers follow each of ten targets as soon as they can, while their
// signers cancel them and a block comes. It returns the targets' order ids.
func raceMatches(s *lifecycleTest, random *rand.Rand) map[uint64]bool {
	block := s.chain.add(101)
	targets := map[uint64]bool{}
	var all sync.WaitGroup
	for i := range uint64(10) {
		signer, patience := common.Address{byte(i + 1)}, random.IntN(300)
		target := sharing(version(signer, i, 101, 110, 7))
		taken := s.submit(target)
		targets[taken.ID] = true
		for n := range uint64(3) {
			tries := random.IntN(300)
			all.Go(func() {
				for range tries {
					_, err := s.lifecycle.Submit(time.Now(), backrunOf(target, common.Address{0xf0, byte(n)}, 1000+10*i+n, 101, 110))
					if err == nil {
						return
					}
					runtime.Gosched()
				}
			})
		}
		all.Go(func() {
			for range patience {
				runtime.Gosched()
			}
			s.cancel(signer)
			s.write("acknowledged %d", taken.ID)
		})
	}
	all.Go(func() { s.chain.news <- block })
	all.Wait()
	return targets
}

// checkMatches looks through what happened, and counts the matches.
func checkMatches(t *testing.T, lines []string, facts []rpc.Fact, targets map[uint64]bool) (matched int) {
	t.Helper()
	leader := map[string]string{} // what an order's transactions are cancelled with
	for id := range targets {
		leader[fmt.Sprint(id)] = fmt.Sprint(id)
	}
	for _, fact := range facts {
		if f, ok := fact.(rpc.OrderAccepted); ok && f.Order.Follows != 0 {
			leader[fmt.Sprint(f.Order.ID)] = fmt.Sprint(f.Order.Follows)
		}
	}
	acknowledged, holding := map[string]bool{}, map[string]bool{}
	for _, line := range lines {
		if id := sendLine.FindStringSubmatch(line); id != nil {
			if holding[id[1]] = true; acknowledged[leader[id[1]]] {
				t.Errorf("order %s contains what was cancelled: %s", id[1], line)
			}
		}
		if id := sharedLine.FindStringSubmatch(line); id != nil && acknowledged[id[1]] {
			t.Errorf("strangers are told of a cancelled order: %s", line)
		}
		if id := forgetLine.FindStringSubmatch(line); id != nil {
			delete(holding, id[1])
		}
		if id := ackedLine.FindStringSubmatch(line); id != nil {
			acknowledged[id[1]] = true
		}
	}
	for id := range holding {
		t.Errorf("nobody is asked to forget order %s", id)
	}
	if len(acknowledged) != len(targets) {
		t.Errorf("%d cancels", len(acknowledged))
	}
	return len(leader) - len(targets)
}
