package app

import (
	"encoding/json"
	"sync"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// laterRefunds has facts of refunds as a later version wrote them. What is owed is stored anew
// whenever it changes; in these words, so that the later version finds its fields again. It is safe
// for concurrent use.
type laterRefunds struct {
	mu   sync.Mutex // guards text
	text map[refundFact]json.RawMessage
}

// refundFact names a fact of a refund.
type refundFact struct {
	subject                 string
	hash, bundle, blockHash common.Hash
	recipient               common.Address
	payoutBlock             uint64 // of a payout
}

// nameRefund names a fact; false for facts of something else.
func nameRefund(fact rpc.Fact) (refundFact, bool) {
	switch f := fact.(type) {
	case rpc.RefundCredited:
		return refundFact{f.Subject(), f.Hash, f.Bundle, f.BlockHash, f.Recipient, 0}, true
	case rpc.RefundPaid:
		return refundFact{f.Subject(), f.Hash, f.Bundle, f.BlockHash, f.Recipient, f.PayoutBlock}, true
	}
	return refundFact{}, false
}

// remember takes a fact that was read.
func (l *laterRefunds) remember(kept rpc.Fact) {
	later, is := kept.(rpc.LaterFact)
	if !is {
		return
	}
	if name, is := nameRefund(later.Fact); is {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.text == nil {
			l.text = map[refundFact]json.RawMessage{}
		}
		l.text[name] = later.Text
	}
}

// wordsOf returns how the facts are to be written, in their order, and forgets all others.
func (l *laterRefunds) wordsOf(owed []rpc.Fact) []rpc.Fact {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.text) == 0 {
		return owed
	}
	words, left := make([]rpc.Fact, len(owed)), map[refundFact]json.RawMessage{}
	for i, fact := range owed {
		words[i] = fact
		name, _ := nameRefund(fact)
		if text := l.text[name]; text != nil {
			words[i], left[name] = rpc.LaterFact{Fact: fact, Text: text}, text
		}
	}
	l.text = left
	return words
}
