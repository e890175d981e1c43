package wire

import (
	"bytes"
	"testing"
	"time"

	"github.com/attestantio/go-builder-client/api/bellatrix"
	"github.com/attestantio/go-builder-client/api/capella"
	"github.com/attestantio/go-builder-client/api/deneb"
	"github.com/attestantio/go-builder-client/api/electra"
	specdeneb "github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// libraryBid is a signed bid as the libraries hold it.
func libraryBid(b *Bid, signature phase0.BLSSignature) codec {
	commitments := b.Commitments
	if commitments == nil {
		commitments = []specdeneb.KZGCommitment{}
	}
	switch b.Fork {
	case eth.Bellatrix:
		return &bellatrix.SignedBuilderBid{Signature: signature, Message: &bellatrix.BuilderBid{
			Header: payload.HeaderToBellatrix(b.Header), Value: b.ValueWei, Pubkey: b.Relay,
		}}
	case eth.Capella:
		return &capella.SignedBuilderBid{Signature: signature, Message: &capella.BuilderBid{
			Header: payload.HeaderToCapella(b.Header), Value: b.ValueWei, Pubkey: b.Relay,
		}}
	case eth.Deneb:
		return &deneb.SignedBuilderBid{Signature: signature, Message: &deneb.BuilderBid{
			Header: b.Header, BlobKZGCommitments: commitments, Value: b.ValueWei, Pubkey: b.Relay,
		}}
	default:
		return &electra.SignedBuilderBid{Signature: signature, Message: &electra.BuilderBid{
			Header: b.Header, BlobKZGCommitments: commitments, ExecutionRequests: requestsOf(b.Requests), Value: b.ValueWei,
			Pubkey: b.Relay,
		}}
	}
}

// encodeByLibrary is the oracle of Encode.
func encodeByLibrary(tb testing.TB, b *Bid, signature phase0.BLSSignature) (ssz, json []byte) {
	tb.Helper()
	signed := libraryBid(b, signature)
	ssz, err := signed.MarshalSSZ()
	if err != nil {
		tb.Fatal(err)
	}
	data, err := signed.MarshalJSON()
	if err != nil {
		tb.Fatal(err)
	}
	return ssz, versioned(b.Fork, data)
}

// randomBid is a bid for a block of a fork.
func (s source) randomBid(tb testing.TB, fork eth.Fork) (bid Bid, signature phase0.BLSSignature) {
	tb.Helper()
	contents := s.contents(fork)
	header, err := payload.HeaderOf(fork, contents.Payload)
	if err != nil {
		tb.Fatal(err)
	}
	bid = Bid{
		Fork: fork, Header: header, Commitments: bundleOf(contents.Blobs).Commitments, Requests: contents.Requests,
		ValueWei: contents.Trace.Value,
	}
	s.fill(bid.Relay[:])
	s.fill(signature[:])
	return bid, signature
}

// A bid that is written by hand is, byte for byte, what the libraries write.
func TestBidIsWhatTheLibrariesWrite(t *testing.T) {
	forEach(t, func(t *testing.T, fork eth.Fork, s source) {
		bid, signature := s.randomBid(t, fork)
		bare := bid
		header := *bid.Header
		header.ExtraData, header.BaseFeePerGas = nil, new(uint256.Int)
		bare.Header, bare.Commitments, bare.Requests, bare.ValueWei = &header, nil, nil, new(uint256.Int)
		most := bid
		most.ValueWei, most.Commitments = new(uint256.Int).SetAllOne(), make([]specdeneb.KZGCommitment, maxCommitments)
		for name, b := range map[string]*Bid{"random": &bid, "with nothing in it": &bare,
			"with all that there can be": &most} {
			ssz, json, err := b.Encode(signature)
			if err != nil {
				t.Fatal(err)
			}
			wantSSZ, wantJSON := encodeByLibrary(t, b, signature)
			if !bytes.Equal(ssz, wantSSZ) {
				t.Errorf("%s, SSZ\n%x, want\n%x", name, ssz, wantSSZ)
			}
			if !bytes.Equal(json, wantJSON) {
				t.Errorf("%s, JSON\n%s, want\n%s", name, json, wantJSON)
			}
		}
	})
}

// What the libraries would not encode is not encoded.
func TestBidBeyondItsLimitsIsNotEncoded(t *testing.T) {
	good, signature := newSource(1).randomBid(t, eth.Fulu)
	long := *good.Header
	long.ExtraData = make([]byte, maxExtraData+1)
	for name, spoil := range map[string]func(b *Bid){
		"a fork without bids":        func(b *Bid) { b.Fork = 0 },
		"a fork that is not known":   func(b *Bid) { b.Fork = eth.Fulu + 1 },
		"extra data of 33 bytes":     func(b *Bid) { b.Header = &long },
		"4,097 commitments of blobs": func(b *Bid) { b.Commitments = make([]specdeneb.KZGCommitment, maxCommitments+1) },
	} {
		bid := good
		spoil(&bid)
		if _, _, err := bid.Encode(signature); err == nil {
			t.Errorf("%s is encoded", name)
		}
		if _, err := bid.Root(); err == nil {
			t.Errorf("%s has a root", name)
		}
	}
}

// What is hashed and written of a bid besides its signature; library/ours is how many times as long
// the libraries take for writing.
func BenchmarkBid(b *testing.B) {
	c := large(b)
	header, err := payload.HeaderOf(eth.Fulu, c.Payload)
	if err != nil {
		b.Fatal(err)
	}
	bid := Bid{Fork: eth.Fulu, Header: header, Commitments: c.Blobs.Commitments, Requests: payload.EmptyRequests(),
		ValueWei: c.Trace.Value}
	var root, ours, library time.Duration
	rounds := 0
	for b.Loop() {
		began := time.Now()
		if _, err := bid.Root(); err != nil {
			b.Fatal(err)
		}
		hashed := time.Now()
		if _, _, err := bid.Encode(phase0.BLSSignature{}); err != nil {
			b.Fatal(err)
		}
		encoded := time.Now()
		encodeByLibrary(b, &bid, phase0.BLSSignature{})
		root, ours, library = root+hashed.Sub(began), ours+encoded.Sub(hashed), library+time.Since(encoded)
		rounds++
	}
	b.ReportMetric(float64(root.Nanoseconds())/1000/float64(rounds), "root-µs")
	b.ReportMetric(float64(ours.Nanoseconds())/1000/float64(rounds), "encode-µs")
	b.ReportMetric(float64(library)/float64(ours), "library/ours")
}
