package stream

import (
	"net/http"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// farAhead is how many blocks a stream's history may be ahead of the world's slots, each of which
// has one block at most.
const farAhead = 10

// checkWorld ends as inconclusive if the stream tells of another chain than the world's: its
// history has blocks that the world cannot have yet.
func checkWorld(t *suite.T) {
	if t.World == nil {
		return
	}
	answer, err := client(t).Do(t, probe.Request{Method: http.MethodGet, Path: infoPath})
	var f facts
	if err != nil || answer.JSON(&f) != nil || f.MaxBlock == nil {
		return
	}
	if newest := uint64(t.World.Facts.Newest(t.Now())); *f.MaxBlock > newest+farAhead {
		t.Inconclusive("the stream tells of another chain than the world's: its history goes to block %d, and the world "+
			"is at "+
			"slot %d", *f.MaxBlock, newest)
	}
}
