package auction

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
)

func fullEntry() Entry {
	return Entry{
		Version: 1, Needs: 1, Instance: "ABC", Number: 7, Kind: BidEntered, ParentHash: phase0.Hash32{1},
		Proposer: phase0.BLSPubKey{2}, Builder: phase0.BLSPubKey{3}, BlockHash: phase0.Hash32{4},
		ValueWei: new(uint256.Int).Not(new(uint256.Int)), FeeRecipient: relay.FeeRecipient{5}, GasLimit: 1<<64 - 1,
		AskedGas: 36_000_000, ReceivedAt: time.Unix(1_700_000_000, 123_456_789).UTC(), Cancellable: true,
		Sequence: 1<<64 - 1, Verified: true, Uncounted: true, RegisteredAt: time.Unix(1_700_000_001, 0).UTC(), Awaited: true,
		Seen: 1<<64 - 1, Offer: json.RawMessage(`{"fork":"fulu"}`),
	}
}

func TestEntryIsReadAsItWasWritten(t *testing.T) {
	for name, entry := range map[string]Entry{
		"all fields": fullEntry(),
		"few fields": {Version: 1, Needs: 1, Instance: "a", Number: 1, Kind: SlotDelivered},
	} {
		raw, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeEntry(raw); err != nil || !reflect.DeepEqual(got, entry) {
			t.Errorf("%s: %v\n%+v, want\n%+v", name, err, got, entry)
		}
	}
}

// An entry of a later version is read if it says that it may be, and written again with what this
// version does not know; a kind that may be passed over changes nothing. Otherwise reading stops.
func TestEntryOfALaterVersion(t *testing.T) {
	text := `{"version":2,"needs":1,"instance":"a","number":1,"kind":"bid","value":"5","colour":{"of":["it"]}}`
	entry, err := DecodeEntry([]byte(text))
	if err != nil || entry.ValueWei.Uint64() != 5 || entry.Version != 2 {
		t.Fatalf("%+v, %v", entry, err)
	}
	again, err := json.Marshal(entry)
	if err != nil || !bytes.Contains(again, []byte(`"colour":{"of":["it"]}`)) {
		t.Errorf("%v: %s", err, again)
	}
	board := NewBoard(1)
	entry.Kind = "weather"
	if applied, err := board.Apply(1, entry); err != nil || !reflect.DeepEqual(applied, Applied{}) ||
		board.Applied() != 1 {
		t.Errorf("%+v, %v, %d: want that an unknown kind is passed over", applied, err, board.Applied())
	}
	if _, err := DecodeEntry([]byte(strings.Replace(text, `"needs":1`, `"needs":2`, 1))); !errors.Is(err, ErrNewerEntry) {
		t.Errorf("%v, want that version 2 is needed", err)
	}
}

func TestEntriesThatCannotBe(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":            `{`,
		"no version":         `{"needs":1,"instance":"a","number":1,"kind":"delivered"}`,
		"needs nothing":      `{"version":1,"instance":"a","number":1,"kind":"delivered"}`,
		"no instance":        `{"version":1,"needs":1,"number":1,"kind":"delivered"}`,
		"no number":          `{"version":1,"needs":1,"instance":"a","kind":"delivered"}`,
		"bid without value":  `{"version":1,"needs":1,"instance":"a","number":1,"kind":"bid"}`,
		"value of nothing":   `{"version":1,"needs":1,"instance":"a","number":1,"kind":"verified","value":null}`,
		"hash of other size": `{"version":1,"needs":1,"instance":"a","number":1,"kind":"delivered","block_hash":"0x01"}`,
	} {
		if entry, err := DecodeEntry([]byte(text)); err == nil {
			t.Errorf("%s: read as %+v", name, entry)
		}
	}
}

// Whatever comes is refused, or read the same again after it was written, and can be applied.
func FuzzDecodeEntry(f *testing.F) {
	raw, err := json.Marshal(fullEntry())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"version":3,"needs":1,"instance":"a","number":1,"kind":"verified","value":"0x5","new":[null]}`))
	f.Add([]byte(`{"Version":1,"needs":1,"instance":"a","number":1,"kind":"withdrawn","KIND":"bid","value":"1"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		entry, err := DecodeEntry(data)
		if err != nil {
			return
		}
		if _, err := NewBoard(1).Apply(1, entry); err != nil {
			t.Fatalf("apply: %v", err)
		}
		written, err := json.Marshal(entry)
		if err != nil {
			t.Fatalf("write: %v", err)
		}
		again, err := DecodeEntry(written)
		if err != nil {
			t.Fatalf("read again: %v\n%s", err, written)
		}
		if twice, err := json.Marshal(again); err != nil || !bytes.Equal(written, twice) {
			t.Fatalf("%v: written as\n%s\nand then as\n%s", err, written, twice)
		}
	})
}
