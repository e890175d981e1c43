package gloas

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/shape"
)

// Limits of the Builder API and of the Beacon API's entries for it (builder-specs and beacon-APIs,
// gloas).
const (
	maxAuthData   = 4096
	maxBuilderURL = 2048
	maxBuilders   = 64
)

// BuilderRequestAuth shows a builder that a request is of the slot's proposer. Data is agreed
// between the two; the host of the builder's URL unless they agree otherwise.
type BuilderRequestAuth struct {
	Data []byte `ssz-max:"4096"`
	Slot phase0.Slot
}

// SignedBuilderRequestAuth is signed by the proposer under the domain of RequestAuthDomain. It is
// the body of a request for a bid.
type SignedBuilderRequestAuth struct {
	Message   *BuilderRequestAuth
	Signature phase0.BLSSignature
}

// BuilderPreferences are what a proposer wants of one builder: the highest payment within the
// payload that it counts.
type BuilderPreferences struct {
	MaxExecutionPayment phase0.Gwei
}

// BuilderPreferencesRequest is the body of a request to the Builder API.
type BuilderPreferencesRequest struct {
	Preferences *BuilderPreferences
	Auth        *SignedBuilderRequestAuth
}

// BuilderEntry names a builder that a beacon node asks for a bid (beacon-APIs, produceBlockV4). No
// pubkeys means any builder behind the URL.
type BuilderEntry struct {
	URL                 string `ssz-max:"2048"`
	Auth                *SignedBuilderRequestAuth
	BuilderPubkeys      []phase0.BLSPubKey `ssz-max:"64"`
	MaxExecutionPayment phase0.Gwei
	MinBid              phase0.Gwei
	BuilderBoostFactor  uint64
}

// BuilderConfig says which bids a beacon node compares for a block. MinBid and BuilderBoostFactor
// are for bids that come from the network.
type BuilderConfig struct {
	MinBid             phase0.Gwei
	BuilderBoostFactor uint64
	Builders           []*BuilderEntry `ssz-max:"64"`
}

// BuilderPreferencesEntry is what a beacon node forwards to a builder as BuilderPreferencesRequest.
type BuilderPreferencesEntry struct {
	ProposerPubkey      phase0.BLSPubKey
	URL                 string `ssz-max:"2048"`
	Auth                *SignedBuilderRequestAuth
	MaxExecutionPayment phase0.Gwei
}

func requestAuthShape() shape.Shape[BuilderRequestAuth] {
	type a = BuilderRequestAuth
	return shape.Container(
		shape.In("data", shape.ByteList[[]byte](maxAuthData), func(a *a) *[]byte { return &a.Data }),
		number("slot", func(a *a) *phase0.Slot { return &a.Slot }),
	)
}

func signedRequestAuthShape() shape.Shape[SignedBuilderRequestAuth] {
	type signed = SignedBuilderRequestAuth
	return signedShape(requestAuthShape(), func(s *signed) **BuilderRequestAuth { return &s.Message },
		func(s *signed) *phase0.BLSSignature { return &s.Signature })
}

func builderPreferencesShape() shape.Shape[BuilderPreferences] {
	type p = BuilderPreferences
	return shape.Container(
		number("max_execution_payment", func(p *p) *phase0.Gwei { return &p.MaxExecutionPayment }),
	)
}

func builderPreferencesRequestShape() shape.Shape[BuilderPreferencesRequest] {
	type r = BuilderPreferencesRequest
	return shape.Container(
		shape.In("preferences", shape.Pointer(builderPreferencesShape()),
			func(r *r) **BuilderPreferences { return &r.Preferences }),
		shape.In("auth", shape.Pointer(signedRequestAuthShape()),
			func(r *r) **SignedBuilderRequestAuth { return &r.Auth }),
	)
}

func builderEntryShape() shape.Shape[BuilderEntry] {
	type e = BuilderEntry
	return shape.Container(
		shape.In("url", shape.Text(maxBuilderURL), func(e *e) *string { return &e.URL }),
		shape.In("auth", shape.Pointer(signedRequestAuthShape()),
			func(e *e) **SignedBuilderRequestAuth { return &e.Auth }),
		shape.In("builder_pubkeys", shape.List(pubkey, maxBuilders),
			func(e *e) *[]phase0.BLSPubKey { return &e.BuilderPubkeys }),
		number("max_execution_payment", func(e *e) *phase0.Gwei { return &e.MaxExecutionPayment }),
		number("min_bid", func(e *e) *phase0.Gwei { return &e.MinBid }),
		number("builder_boost_factor", func(e *e) *uint64 { return &e.BuilderBoostFactor }),
	)
}

func builderConfigShape() shape.Shape[BuilderConfig] {
	type c = BuilderConfig
	return shape.Container(
		number("min_bid", func(c *c) *phase0.Gwei { return &c.MinBid }),
		number("builder_boost_factor", func(c *c) *uint64 { return &c.BuilderBoostFactor }),
		shape.In("builders", shape.List(shape.Pointer(builderEntryShape()), maxBuilders),
			func(c *c) *[]*BuilderEntry { return &c.Builders }),
	)
}

func builderPreferencesEntryShape() shape.Shape[BuilderPreferencesEntry] {
	type e = BuilderPreferencesEntry
	return shape.Container(
		shape.In("proposer_pubkey", pubkey, func(e *e) *phase0.BLSPubKey { return &e.ProposerPubkey }),
		shape.In("url", shape.Text(maxBuilderURL), func(e *e) *string { return &e.URL }),
		shape.In("auth", shape.Pointer(signedRequestAuthShape()),
			func(e *e) **SignedBuilderRequestAuth { return &e.Auth }),
		number("max_execution_payment", func(e *e) *phase0.Gwei { return &e.MaxExecutionPayment }),
	)
}
