package app

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/scenarios"
)

// orders turns the facts of the bundle RPC's journal into records of the run. It is safe for
// concurrent use.
type orders struct {
	lab *planRun
	// names of users and searchers, by the address that signs their requests; that is their first
	// wallet.
	names map[common.Address]string

	mu       sync.Mutex // guards the fields below
	accepted map[uint64]*rpc.Order
	owed     map[common.Hash]*uint256.Int // what a landed bundle paid to the fee recipient
	credits  map[creditName]*uint256.Int
	unvalued []rpc.RefundPaid // refunds that came before the end of their bundle
}

// creditName identifies a refund.
type creditName struct {
	hash, bundle, block common.Hash
	recipient           common.Address
}

func newOrders(l *planRun) *orders {
	o := &orders{
		lab: l, names: map[common.Address]string{}, accepted: map[uint64]*rpc.Order{}, owed: map[common.Hash]*uint256.Int{},
		credits: map[creditName]*uint256.Int{},
	}
	for i, one := range l.plan.Users {
		o.names[network.Address(l.network.Traders[i])] = one.Name
	}
	for i, one := range l.plan.Searchers {
		o.names[network.Address(l.network.Searchers[i][0])] = one.Name
	}
	return o
}

// apply receives every fact, in the order of the journal.
func (o *orders) apply(subject string, raw json.RawMessage) {
	fact, err := decodeRPC(subject, raw)
	if err != nil {
		o.lab.book.noteFailed(err)
		return
	}
	if fact == nil {
		o.lab.book.add(scenarios.Record{Actor: scenarios.RPCName, Subject: subject}, o.lab.book.now(), raw)
		return
	}
	o.observe(fact)
}

// observe records a fact of a kind that expectations look at.
func (o *orders) observe(fact rpc.Fact) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := scenarios.Record{Actor: scenarios.RPCName, Subject: fact.Subject()}
	at := o.lab.book.now()
	switch f := fact.(type) {
	case rpc.OrderAccepted:
		o.accepted[f.Order.ID] = f.Order
		at, r.About = f.At, o.names[f.Order.Signer]
	case rpc.OrderShared:
		r.Subject = scenarios.HintSeen
		if order := o.accepted[f.ID]; order != nil {
			r.About = o.names[order.Signer]
		}
	case rpc.OrderEnded:
		at = f.At
		o.noteEnded(&r, f)
	case rpc.RefundCredited:
		at = f.At
		o.credits[creditName{f.Hash, f.Bundle, f.BlockHash, f.Recipient}] = f.AmountWei
		r.About, r.ValueWei, r.ID = o.nameOf(f.Recipient), decimal(f.AmountWei), "in-block"
		if f.Delayed {
			r.ID = "delayed"
		}
	case rpc.RefundPaid:
		if o.owed[f.Bundle] == nil && f.Bundle != (common.Hash{}) {
			o.unvalued = append(o.unvalued, f)
			return
		}
		o.notePaid(f)
		return
	}
	o.lab.book.add(r, at, fact)
	for _, paid := range o.unvalued {
		if o.owed[paid.Bundle] != nil {
			o.notePaid(paid)
		}
	}
	o.unvalued = slices.DeleteFunc(o.unvalued, func(paid rpc.RefundPaid) bool { return o.owed[paid.Bundle] != nil })
}

// notePaid records a paid refund. What its bundle paid must be known by then.
func (o *orders) notePaid(f rpc.RefundPaid) {
	amount := o.credits[creditName{f.Hash, f.Bundle, f.BlockHash, f.Recipient}]
	o.lab.book.add(scenarios.Record{
		Actor: scenarios.RPCName, Subject: scenarios.RefundPaid, About: o.nameOf(f.Recipient), ValueWei: decimal(amount),
		Percent: o.percent(f, amount),
	}, f.At, f)
}

// nameOf returns the name of a user or searcher, or "friend" for any other recipient.
func (o *orders) nameOf(recipient common.Address) string {
	if name := o.names[recipient]; name != "" {
		return name
	}
	return "friend"
}

func (o *orders) noteEnded(r *scenarios.Record, f rpc.OrderEnded) {
	order := o.accepted[f.ID]
	if order == nil {
		return
	}
	r.About = o.names[order.Signer]
	switch {
	case f.State == rpc.Cancelled:
		r.Subject = scenarios.OrderCancelled
	case f.State != rpc.Landed:
		return
	case order.Follows != 0:
		r.Subject = scenarios.BackrunLanded
		o.owed[order.Hash()] = f.ValueWei
	case len(r.About) > 4 && r.About[:4] == "user":
		r.Subject = scenarios.PrivateLanded
	default:
		r.Subject = scenarios.BundleLanded
	}
	r.ValueWei, r.At = decimal(f.ValueWei), o.lab.builderOf(f.BlockHash)
}

// builderOf returns the builder's name, which a block carries as its extra data.
func (l *planRun) builderOf(hash common.Hash) string {
	if b := l.network.Chain.Chain().GetBlockByHash(hash); b != nil {
		return string(b.Extra())
	}
	return ""
}

// percent returns the share of a backrun's payment that was refunded, before the payout's cost was
// taken off: the refunded amount and the cost of the payout's gas at the base fee, relative to the
// payment.
func (o *orders) percent(f rpc.RefundPaid, amount *uint256.Int) float64 {
	b := o.lab.network.Chain.Chain().GetBlockByHash(f.BlockHash)
	paid := o.owed[f.Bundle]
	if b == nil || amount == nil || paid == nil || paid.IsZero() {
		return 0
	}
	gross := new(uint256.Int).Add(amount, new(uint256.Int).Mul(uint256.NewInt(network.PayoutGas),
		uint256.MustFromBig(b.BaseFee())))
	return 100 * gross.Float64() / paid.Float64()
}
