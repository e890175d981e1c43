package app

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// BenchmarkOwnWork is our own work for a submission of 1.5 MB in fulu, with 9 blobs and 200
// transactions, without its signature and its execution: the whole way in one piece, then each
// stage by itself, and how JSON compares with SSZ. The block's hash is not on the relay's own way:
// the validator recomputes it (REL-SUB-18); its stage says what that costs.
func BenchmarkOwnWork(b *testing.B) {
	for _, row := range []struct {
		name  string
		files bool
	}{{"memory", false}, {"file", true}} {
		b.Run(row.name, func(b *testing.B) {
			dir := ""
			if row.files {
				dir = b.TempDir()
			}
			ownWork(b, openBench(b, dir))
		})
	}
	b.Run("stages", stages)
}

// ownWork sends the block in both encodings in turn.
func ownWork(b *testing.B, h *benchWay) {
	block := benchBlock(b, h.spec, 0, 200, 1400, 9)
	var took [2]time.Duration
	wei, rounds := uint64(0), 0
	for b.Loop() {
		for _, media := range []wire.Media{wire.SSZ, wire.JSON} {
			b.StopTimer()
			wei++
			body := offer(b, h, block, benchBuilders[0], media, wei)
			b.StartTimer()
			_, answered := h.submit(b, 0, true, media, body)
			took[media] += answered
		}
		rounds++
	}
	b.ReportMetric(took[wire.SSZ].Seconds()*1000/float64(rounds), "ssz-ms")
	b.ReportMetric(took[wire.JSON].Seconds()*1000/float64(rounds), "json-ms")
	b.ReportMetric(float64(took[wire.JSON])/float64(took[wire.SSZ]), "json/ssz")
}

// stages does the parts of the work one after another.
func stages(b *testing.B) {
	h := openBench(b, "")
	files := openBench(b, b.TempDir())
	block := benchBlock(b, h.spec, 0, 200, 1400, 9)
	text := offer(b, h, block, benchBuilders[0], wire.JSON, 1)
	body := offer(b, h, block, benchBuilders[0], wire.SSZ, 1)
	stages := []string{"slot+decode", "decode-json", "header", "block-hash", "encode", "put-memory", "put-file",
		"sign+encode-bid"}
	took := map[string]time.Duration{}
	rounds := 0
	for b.Loop() {
		last := time.Now()
		lap := func(stage string, err error) {
			if err != nil {
				b.Fatal(stage, err)
			}
			now := time.Now()
			took[stage] += now.Sub(last)
			last = now
		}
		_, err := wire.SlotOf(wire.SSZ, body)
		var s *relay.Submission
		if err == nil {
			s, err = wire.DecodeSubmission(eth.Fulu, wire.SSZ, body)
		}
		lap("slot+decode", err)
		_, err = wire.DecodeSubmission(eth.Fulu, wire.JSON, text)
		lap("decode-json", err)
		header, err := payload.HeaderOf(eth.Fulu, s.Payload)
		lap("header", err)
		if _, err := payload.Block(eth.Fulu, s.Payload, s.Blobs.Commitments, phase0.Root{}, s.Requests); err == nil {
			b.Fatal("an invented block hash is right")
		}
		lap("block-hash", nil)
		raw, err := wire.EncodeContents(s.Contents())
		lap("encode", err)
		lap("put-memory", h.journal.Put(context.Background(), fmt.Sprintf("1.%d", rounds), raw))
		lap("put-file", files.journal.Put(context.Background(), fmt.Sprintf("1.%d", rounds), raw))
		bid := wire.Bid{Fork: eth.Fulu, Header: header, Commitments: s.Blobs.Commitments, Requests: s.Requests,
			ValueWei: s.Trace.Value}
		_, _, err = wire.SignBid(bid, bls.Derive("relay", 0), h.spec.BuilderDomain())
		lap("sign+encode-bid", err)
		rounds++
	}
	for _, stage := range stages {
		b.ReportMetric(took[stage].Seconds()*1000/float64(rounds), stage+"-ms")
	}
}
