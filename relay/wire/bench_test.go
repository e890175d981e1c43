package wire

import (
	"bytes"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// large is a fulu block as a busy slot has it: 1.5 MB in SSZ, with 9 blobs and 200 transactions.
func large(tb testing.TB) *relay.Contents {
	tb.Helper()
	const blobs, transactions, transactionBytes = 9, 200, 1400
	s := newSource(9)
	c := s.contents(eth.Fulu)
	c.Payload.Transactions = make([]bellatrix.Transaction, transactions)
	for i := range c.Payload.Transactions {
		raw, err := types.NewTx(&types.DynamicFeeTx{Nonce: uint64(i),
			Data: s.fill(make([]byte, transactionBytes))}).MarshalBinary()
		if err != nil {
			tb.Fatal(err)
		}
		c.Payload.Transactions[i] = raw
	}
	c.Blobs = &payload.Blobs{
		Commitments: make([]deneb.KZGCommitment, blobs), Proofs: make([]deneb.KZGProof, blobs*eth.CellsPerBlob),
		Blobs: make([]deneb.Blob, blobs),
	}
	for i := range c.Blobs.Blobs {
		s.fill(c.Blobs.Commitments[i][:])
		s.fill(c.Blobs.Blobs[i][:])
	}
	for i := range c.Blobs.Proofs {
		s.fill(c.Blobs.Proofs[i][:])
	}
	return c
}

// The same block in both encodings. json/ssz compares decoding alone; json/work compares it with
// all that the relay has to do for the block in SSZ before a simulator sees it: decoding, the
// header's root and the block's hash.
func BenchmarkDecodeSubmission(b *testing.B) {
	c := large(b)
	request, err := toRequest(c)
	if err != nil {
		b.Fatal(err)
	}
	bodies := map[Media][]byte{}
	for _, media := range []Media{SSZ, JSON} {
		if bodies[media], err = encode(media, request); err != nil {
			b.Fatal(err)
		}
	}
	decode := func(b *testing.B, media Media) *relay.Submission {
		slot, err := SlotOf(media, bodies[media])
		if err != nil || uint64(slot) != c.Trace.Slot {
			b.Fatal(slot, err)
		}
		s, err := DecodeSubmission(eth.Fulu, media, bodies[media])
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	for name, media := range map[string]Media{"ssz": SSZ, "json": JSON} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(bodies[media])))
			b.ReportAllocs()
			for b.Loop() {
				decode(b, media)
			}
		})
	}
	// The worst place for the message is the last.
	last := bytes.Replace(bodies[JSON], []byte(`{"message":`), []byte(`{"x":`), 1)
	last = append(last[:len(last)-1], `,"message":{"slot":"1"}}`...)
	b.Run("slot behind all", func(b *testing.B) {
		for b.Loop() {
			if _, err := SlotOf(JSON, last); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ratio", func(b *testing.B) {
		var ssz, json, rest time.Duration
		for b.Loop() {
			start := time.Now()
			s := decode(b, SSZ)
			decoded := time.Now()
			if _, err := payload.HeaderOf(eth.Fulu, s.Payload); err != nil {
				b.Fatal(err)
			}
			if _, err := payload.Block(eth.Fulu, s.Payload, nil, phase0.Root{}, s.Requests); err == nil {
				b.Fatal("a random block hash is right")
			}
			checked := time.Now()
			decode(b, JSON)
			ssz, rest, json = ssz+decoded.Sub(start), rest+checked.Sub(decoded), json+time.Since(checked)
		}
		b.ReportMetric(float64(json)/float64(ssz), "json/ssz")
		b.ReportMetric(float64(json)/float64(ssz+rest), "json/work")
	})
}

// What the escrow pays for a large block.
func BenchmarkContents(b *testing.B) {
	c := large(b)
	raw, err := EncodeContents(c)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			if _, err := EncodeContents(c); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			if _, err := DecodeContents(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ratio", func(b *testing.B) {
		var encode, decode, copied time.Duration
		for b.Loop() {
			start := time.Now()
			if _, err := EncodeContents(c); err != nil {
				b.Fatal(err)
			}
			encoded := time.Now()
			if _, err := DecodeContents(raw); err != nil {
				b.Fatal(err)
			}
			decoded := time.Now()
			sink = append([]byte(nil), raw...)
			encode, decode, copied = encode+encoded.Sub(start), decode+decoded.Sub(encoded), copied+time.Since(decoded)
		}
		b.ReportMetric(float64(encode)/float64(copied), "encode/copy")
		b.ReportMetric(float64(decode)/float64(copied), "decode/copy")
	})
}

var sink []byte
