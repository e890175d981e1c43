package lane

import "github.com/ethereum/go-ethereum/common"

// Who describes a sender. Known: its signer has a good reputation. Source is the network that a
// stranger comes from, empty if that is not known.
type Who struct {
	Signer common.Address
	Source string
	Known  bool
}

// Key names a lane: a signer's, or that of all strangers of a network.
type Key struct {
	Signer common.Address
	Source string
}

// Key is the sender's lane. A known signer has its own. Strangers share the lane of their network,
// whatever keys they sign with.
func (w Who) Key() Key {
	if w.Known || w.Source == "" {
		return Key{Signer: w.Signer}
	}
	return Key{Source: w.Source}
}
