package wire

import (
	"fmt"

	specdeneb "github.com/attestantio/go-eth2-client/spec/deneb"
	specelectra "github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Bid is the message that the relay signs and proposers see (builder-specs, BuilderBid of each
// fork). What it points to must not be changed.
type Bid struct {
	Fork        eth.Fork
	Header      *payload.Header
	Commitments []specdeneb.KZGCommitment      // from deneb on
	Requests    *specelectra.ExecutionRequests // from electra on; nil means none
	ValueWei    *uint256.Int
	// Relay is the public key that the bid is signed with.
	Relay phase0.BLSPubKey
}

// SignBid signs a bid with the relay's key under the builder domain and encodes it both ways: the
// bare SignedBuilderBid in SSZ, and the whole {"version","data"} document in JSON (builder-specs,
// getHeader). It sets the bid's Relay.
func SignBid(bid Bid, key *bls.SecretKey, domain phase0.Domain) (ssz, json []byte, err error) {
	bid.Relay = key.PublicKey()
	root, err := bid.Root()
	if err != nil {
		return nil, nil, err
	}
	return bid.Encode(key.Sign(eth.SigningRoot(root, domain)))
}

// Root returns the hash tree root of the message. Bids with the same fork and root are the same.
func (b *Bid) Root() (phase0.Root, error) {
	form, err := forms.Of(b.Fork, "bids")
	if err != nil {
		return phase0.Root{}, err
	}
	root, err := form.bid(b).HashTreeRoot()
	if err != nil {
		return phase0.Root{}, fmt.Errorf("hash bid: %w", err)
	}
	return root, nil
}

// Encode returns the bid with its signature, in both encodings (see SignedBid). The encoders are
// written by hand, because the libraries, which use reflection for JSON, take ten times as long,
// and proposers wait meanwhile. Tests compare the encoders with the libraries.
func (b *Bid) Encode(signature phase0.BLSSignature) (ssz, json []byte, err error) {
	if err := b.validate(); err != nil {
		return nil, nil, err
	}
	if ssz, err = b.ssz(signature); err != nil {
		return nil, nil, fmt.Errorf("encode bid: %w", err)
	}
	if json, err = b.json(signature); err != nil {
		return nil, nil, fmt.Errorf("encode bid: %w", err)
	}
	return ssz, json, nil
}

// validate checks what the libraries check when they encode a bid.
func (b *Bid) validate() error {
	if _, err := forms.Of(b.Fork, "bids"); err != nil {
		return err
	}
	switch {
	case len(b.Header.ExtraData) > maxExtraData:
		return fmt.Errorf("encode bid: %d bytes of extra data, at most %d", len(b.Header.ExtraData), maxExtraData)
	case len(b.Commitments) > maxCommitments:
		return fmt.Errorf("encode bid: %d commitments, at most %d", len(b.Commitments), maxCommitments)
	}
	return nil
}
