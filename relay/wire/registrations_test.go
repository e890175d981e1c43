package wire

import (
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
)

// BenchmarkDecodeRegistrations1000 compares decoding a batch with verifying its signatures:
// decoding must not be what a proposer waits for. Percent is decoding on one core against
// verification on all of them.
func BenchmarkDecodeRegistrations1000(b *testing.B) {
	s := newSource(1)
	var list []*relay.SignedRegistration
	var triples []bls.Triple
	var ssz []byte
	for i := range 1000 {
		list = append(list, s.registration())
		raw, err := list[i].MarshalSSZ()
		if err != nil {
			b.Fatal(err)
		}
		ssz = append(ssz, raw...)
		key, root := bls.Derive("decode", uint64(i)), [32]byte{byte(i)}
		triples = append(triples, bls.Triple{Key: key.PublicKey(), Root: root, Signature: key.Sign(root)})
	}
	text, err := json.Marshal(list)
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	if bls.VerifyBatch(triples, runtime.NumCPU()) != nil {
		b.Fatal("the batch does not verify")
	}
	verifying := time.Since(start)
	for media, body := range map[Media][]byte{JSON: text, SSZ: ssz} {
		b.Run(media.ContentType(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if batch, err := DecodeRegistrations(media, body); err != nil || len(batch.Entries) != 1000 {
					b.Fatal(err)
				}
			}
			b.ReportMetric(100*float64(b.Elapsed())/float64(b.N)/float64(verifying), "%-of-verifying")
		})
	}
}
