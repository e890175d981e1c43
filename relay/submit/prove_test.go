package submit

import "testing"

// A block that enters no auction is proved and in the escrow, without its message's signature, and
// does not stay in memory until the slot is over; the harness fails a test that leaves one there.
func TestProvedPayloadIsSettled(t *testing.T) {
	h := newPipeline(t)
	s := h.submission(1, 1000)
	s.Signature[0]++
	if refused := h.pipeline.Prove(t.Context(), s); refused != nil {
		t.Fatal(refused)
	}
	if h.escrowed[s.Contents().ID()] == nil {
		t.Error("the payload is not in the escrow")
	}
	if h.served(s.Key()) == s.Trace.BlockHash {
		t.Error("it is in the auction")
	}
}
