package pool

import (
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// Why an order ended that followed another one. It contains that one's transactions: it is never
// alive without it.
const (
	leaderCancelled = "the order that it followed was cancelled"
	leaderFailed    = "the order that it followed can never be included"
	leaderLanded    = "the order that it followed landed without it"
)

// checkLeader refuses an order that follows one which is not alive, which it would end itself by
// taking its place, or which does not count for its blocks yet.
func (p *Pool) checkLeader(order *rpc.Order) error {
	if order.Follows == 0 {
		return nil
	}
	leader := p.entries[order.Follows]
	switch {
	case leader == nil || !leader.alive() || p.isBelow(leader, p.liveVersion(order)):
		return rpc.BackrunNotFound.Plain()
	case leader.from > order.Bundle.Window.LastBlock:
		return rpc.BackrunInvalidInclusion.Plain()
	}
	return nil
}

// isBelow says whether an order is another one, or follows it, or one that does.
func (p *Pool) isBelow(e, top *entry) bool {
	for ; e != nil && top != nil; e = p.entries[e.order.Follows] {
		if e == top {
			return true
		}
	}
	return false
}

// endFollowers ends the orders that follow one which has just ended. Those that landed with it have
// ended before.
func (p *Pool) endFollowers(at time.Time, leader *entry) []rpc.Fact {
	var facts []rpc.Fact
	for _, follower := range p.followersOf(leader.order.ID) {
		if follower.alive() {
			facts = append(facts, p.endWith(at, leader, follower)...)
		}
	}
	return facts
}

// endWith ends an order as the one that it followed did. Nothing that its signer may not know of
// the other one is in the reason.
func (p *Pool) endWith(at time.Time, leader, follower *entry) []rpc.Fact {
	switch {
	case leader.state == rpc.Cancelled:
		return p.end(at, follower, rpc.Cancelled, leaderCancelled)
	case leader.state == rpc.Landed:
		return p.end(at, follower, rpc.Failed, leaderLanded)
	case leader.state == rpc.Expired:
		return p.expire(at, follower)
	case leader.end.reason == alreadyOnChain:
		return p.end(at, follower, rpc.Failed, alreadyOnChain)
	}
	return p.end(at, follower, rpc.Failed, leaderFailed)
}

// includesOwn says whether a block has anything of an order but the one that it follows: else that
// one landed alone, whatever the order can do without.
func includesOwn(order *rpc.Order, place map[common.Hash]int) bool {
	if order.Follows == 0 {
		return true
	}
	own := rpc.Bundle{Elements: order.Bundle.Elements[1:]}
	for tx := range own.Transactions() {
		if _, in := place[tx.Hash]; in {
			return true
		}
	}
	return false
}

// leaderIs says whether an order follows one that is in a state.
func (p *Pool) leaderIs(e *entry, state rpc.State) bool {
	leader := p.entries[e.order.Follows]
	return leader != nil && leader.state == state
}
