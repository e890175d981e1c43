package exec

import "github.com/ethereum/go-ethereum/common"

// Sender describes a sender. Known: its signer has a good reputation. Source is the network that a
// stranger comes from, empty if that is not known.
type Sender struct {
	Signer common.Address
	Source string
	Known  bool
}

// FlowKey names a flow: a signer's, or that of all strangers of a network.
type FlowKey struct {
	Signer common.Address
	Source string
}

// Key is the sender's flow. A known signer has its own. Strangers share the flow of their
// network, whatever keys they sign with.
func (w Sender) Key() FlowKey {
	if w.Known || w.Source == "" {
		return FlowKey{Signer: w.Signer}
	}
	return FlowKey{Source: w.Source}
}
