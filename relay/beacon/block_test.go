package beacon

import (
	"errors"
	"fmt"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// A block is read from the first node that answers; one that has none settles it.
func TestBlock(t *testing.T) {
	document := func(slot, hash string) string {
		return fmt.Sprintf(`{"data":{"message":{"slot":%q,"body":{"execution_payload":{"block_hash":%q,"gas_limit":"30"}}}}}`,
			slot, hash)
	}
	good := document("7", fmt.Sprintf("0x%064x", 5))
	for name, row := range map[string]struct {
		urls  []string
		found bool
		err   error // nil for any, if there is no block
	}{
		"the first has it":          {[]string{answering(t, 200, good), down(t)}, true, nil},
		"the first is down":         {[]string{down(t), answering(t, 200, good)}, true, nil},
		"the first fails":           {[]string{answering(t, 500, ""), answering(t, 200, good)}, true, nil},
		"the first has none":        {[]string{answering(t, 404, ""), answering(t, 200, good)}, false, ErrNoBlock},
		"all are down":              {[]string{down(t)}, false, nil},
		"it is no JSON":             {[]string{answering(t, 200, "<html>")}, false, nil},
		"it is of before the merge": {[]string{answering(t, 200, document("7", ""))}, false, nil},
		"its slot is no number":     {[]string{answering(t, 200, document("x", fmt.Sprintf("0x%064x", 5)))}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			block, err := nodes(t, row.urls...).Block(t.Context(), "7")
			if row.found != (err == nil) || row.err != nil && !errors.Is(err, row.err) {
				t.Errorf("%v", err)
			}
			if want := (Block{Slot: 7, Hash: phase0.Hash32{31: 5}, GasLimit: 30}); row.found && block != want {
				t.Errorf("%+v, want %+v", block, want)
			}
		})
	}
}

// A block of gloas has a bid in the place of a payload.
func TestBlockOfGloas(t *testing.T) {
	bid := `{"builder_index":"18446744073709551615","block_hash":"0x%064x","parent_block_hash":"0x%064x",` +
		`"gas_limit":"30","value":"%s","execution_payment":"5"}`
	document := func(value string) string {
		return `{"data":{"message":{"slot":"7","body":{"signed_execution_payload_bid":{"message":` +
			fmt.Sprintf(bid, 5, 4, value) + `}}}}}`
	}
	block, err := nodes(t, answering(t, 200, document("6"))).Block(t.Context(), "7")
	want := BlockBid{Builder: gloas.SelfBuild, Hash: phase0.Hash32{31: 5}, ParentHash: phase0.Hash32{31: 4}, ValueGwei: 6,
		PaymentGwei: 5}
	if err != nil || block.Bid == nil || *block.Bid != want || block.Slot != 7 || block.GasLimit != 30 ||
		block.Hash != (phase0.Hash32{}) {
		t.Errorf("%+v, bid %+v, %v", block, block.Bid, err)
	}
	if _, err := nodes(t, answering(t, 200, document("-6"))).Block(t.Context(), "7"); err == nil {
		t.Error("a negative value is read")
	}
}

// Of all blocks of a slot those with different roots count.
func TestProposals(t *testing.T) {
	for body, want := range map[string]int{
		`{"data":[]}`: 0, `{"data":[{"root":"0x01"}]}`: 1, `{"data":[{"root":"0x01"},{"root":"0x01"}]}`: 1,
		`{"data":[{"root":"0x01"},{"root":"0x02"}]}`: 2,
	} {
		if got, err := nodes(t, answering(t, 200, body)).Proposals(t.Context(), 7); err != nil || got != want {
			t.Errorf("%s: %d, %v", body, got, err)
		}
	}
	if _, err := nodes(t, down(t)).Proposals(t.Context(), 7); err == nil {
		t.Error("a node that is down has told of blocks")
	}
}

// Relays are known by the keys of their builders; a key that nobody has staked under has no index.
func TestBuilderIndices(t *testing.T) {
	key, other := phase0.BLSPubKey{1}, phase0.BLSPubKey{2}
	row := fmt.Sprintf(`{"index":"7","builder":{"pubkey":"%#x","version":"0","balance":"1","deposit_epoch":"0",`+
		`"withdrawable_epoch":"1"}}`, key[:])
	got, err := nodes(t, answering(t, 200, `{"data":[`+row+`]}`)).BuilderIndices(t.Context(),
		[]phase0.BLSPubKey{key, other})
	if err != nil || len(got) != 1 || got[key] != 7 {
		t.Errorf("%v, %v", got, err)
	}
}
