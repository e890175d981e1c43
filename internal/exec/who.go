package exec

import "github.com/ethereum/go-ethereum/common"

// Sender describes a sender. Known: its signer has a good reputation. Source is the network that a
// stranger comes from, empty if that is not known.
type Sender struct {
	Signer common.Address
	Source string
	Known  bool
}

// LaneKey names a lane: a signer's, or that of all strangers of a network.
type LaneKey struct {
	Signer common.Address
	Source string
}

// Key is the sender's lane. A known signer has its own. Strangers share the lane of their
// network, whatever keys they sign with.
func (w Sender) Key() LaneKey {
	if w.Known || w.Source == "" {
		return LaneKey{Signer: w.Signer}
	}
	return LaneKey{Source: w.Source}
}
