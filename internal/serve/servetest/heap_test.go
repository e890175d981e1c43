package servetest

import (
	"runtime"
	"testing"
)

// What is held counts; of four times as much garbage only what the collector has not come to yet.
func TestPeak(t *testing.T) {
	const held = 8 << 20
	if peak := Peak(t, held, func() {
		var kept [][]byte
		for range held >> 16 {
			kept = append(kept, make([]byte, 1<<16))
		}
		runtime.GC()
		runtime.KeepAlive(kept)
	}); peak < held*3/4 || peak > held*2 {
		t.Errorf("%d bytes, of %d that are held", peak, held)
	}
	if peak := Peak(t, held, func() {
		for range 4 * (held >> 16) {
			garbage = make([]byte, 1<<16)
		}
		garbage = nil
	}); peak > held {
		t.Errorf("%d bytes of garbage", peak)
	}
}

var garbage []byte
