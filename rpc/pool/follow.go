package pool

import (
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// Why an order ended that followed another one, its leader. It contains the leader's transactions,
// so it is never alive without the leader.
const (
	leaderCancelled = "the order that it followed was cancelled"
	leaderFailed    = "the order that it followed can never be included"
	leaderLanded    = "the order that it followed landed without it"
)

// checkLeader refuses an order whose leader is not alive, whose leader would end because the order
// replaces it, or whose leader does not count for its blocks yet.
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

// isBelow says whether an order is top, or follows it directly or through others.
func (p *Pool) isBelow(e, top *entry) bool {
	for ; e != nil && top != nil; e = p.entries[e.order.Follows] {
		if e == top {
			return true
		}
	}
	return false
}

// endFollowers ends the orders that follow an order which has just ended. Those that landed with it
// have ended already.
func (p *Pool) endFollowers(at time.Time, leader *entry) []rpc.Fact {
	var facts []rpc.Fact
	for _, follower := range p.followersOf(leader.order.ID) {
		if follower.alive() {
			facts = append(facts, p.endWith(at, leader, follower)...)
		}
	}
	return facts
}

// endWith ends a follower in the way its leader ended. The reason contains nothing that the
// follower's signer may not know about the leader.
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

// includesOwn says whether a block includes any transaction of an order besides those of its
// leader. If not, the leader landed alone, even if the order's own transactions may all be dropped.
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

// leaderIs says whether an order's leader is in a state.
func (p *Pool) leaderIs(e *entry, state rpc.State) bool {
	leader := p.entries[e.order.Follows]
	return leader != nil && leader.state == state
}
