package auction

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/relay"
)

// streamed is a message of a stream that has the logs of several slots.
type streamed struct {
	slot phase0.Slot
	data []byte
}

// drawStream draws the logs of three slots in one stream: each begins with its first entry.
func drawStream(t *rapid.T) (stream []streamed) {
	opened := map[phase0.Slot]bool{}
	for number := range rapid.IntRange(1, 30).Draw(t, "messages") {
		slot := phase0.Slot(rapid.IntRange(1, 3).Draw(t, "slot"))
		entry := Entry{Version: 1, Needs: 1, Instance: "a", Number: uint64(number + 1), Kind: BidEntered}
		if entry.Builder[0], entry.BlockHash[0] = 1, byte(number); !opened[slot] {
			opened[slot], entry.Kind = true, LogOpened
		}
		entry.ValueWei = uint256.NewInt(rapid.Uint64Range(0, 9).Draw(t, "value"))
		data, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		stream = append(stream, streamed{slot, data})
	}
	return stream
}

// A reader that begins anywhere in the stream, misses messages and gets some again either has a
// slot's whole log, or says that it has not. It never has part of one.
func TestBoardsAreOfWholeLogs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := drawStream(t)
		var boards Boards
		read := 0 // messages up to it were read, or missed
		got := map[int]bool{}
		deliver := func(at int) {
			_, applied, err := boards.Apply(uint64(at+1), stream[at].slot, stream[at].data)
			if at < read && (err != nil || !applied.Repeated) {
				t.Fatalf("message %d again: %+v, %v", at+1, applied, err)
			}
			got[at] = got[at] || at >= read
			read = max(read, at+1)
		}
		for at := range stream {
			if rapid.IntRange(0, 7).Draw(t, "misses it") > 0 {
				deliver(at)
			}
			if read > 0 && rapid.IntRange(0, 3).Draw(t, "one comes again") == 0 {
				deliver(rapid.IntRange(0, read-1).Draw(t, "again"))
			}
		}
		missed := map[phase0.Slot]bool{}
		for at, message := range stream[:read] {
			missed[message.slot] = missed[message.slot] || !got[at]
		}
		for slot := phase0.Slot(1); slot <= 3; slot++ {
			board := boards.Board(slot)
			if board == nil {
				continue
			}
			whole := NewBoard(slot)
			place := uint64(0)
			for _, message := range stream[:read] {
				if entry, err := DecodeEntry(message.data); err != nil {
					t.Fatal(err)
				} else if message.slot == slot {
					place++
					if _, err := whole.Apply(place, entry); err != nil {
						t.Fatal(err)
					}
				}
			}
			key := relay.Key{Slot: slot}
			got, want := describeTop(board.Book(key).Top()), describeTop(whole.Book(key).Top())
			if missed[slot] || got != want || board.Applied() != whole.Applied() {
				t.Fatalf("slot %d: %s after %d entries, want %s after %d; missed %v", slot, got, board.Applied(), want,
					whole.Applied(), missed[slot])
			}
		}
	})
}

func entryText(kind string, more string) []byte {
	return []byte(`{"version":1,"needs":1,"instance":"a","number":` + kind + more + `}`)
}

// What ends the serving of a slot, and that other slots go on.
func TestFaultsOfALog(t *testing.T) {
	opened := entryText("1", `,"kind":"opened"`)
	bid := entryText("2", `,"kind":"bid","value":"5","block_hash":"0x`+strings.Repeat("11", 32)+`"`)
	tooNew := []byte(`{"version":2,"needs":2,"instance":"a","number":3,"kind":"bid"}`)
	for name, c := range map[string]struct {
		stream map[uint64]streamed
		want   error
	}{
		"whole":                    {map[uint64]streamed{7: {1, opened}, 8: {1, bid}}, nil},
		"beginning is missing":     {map[uint64]streamed{7: {1, bid}}, ErrGap},
		"an entry is missing":      {map[uint64]streamed{7: {1, opened}, 9: {1, bid}}, ErrGap},
		"missing behind the last":  {map[uint64]streamed{7: {1, opened}, 8: {1, bid}, 10: {2, opened}}, ErrGap},
		"an entry is too new":      {map[uint64]streamed{7: {1, opened}, 8: {1, tooNew}}, ErrNewerEntry},
		"goes on after a new one":  {map[uint64]streamed{7: {1, opened}, 8: {1, tooNew}, 9: {1, bid}}, ErrNewerEntry},
		"another slot is affected": {map[uint64]streamed{7: {2, opened}, 8: {2, tooNew}, 9: {1, opened}}, nil},
	} {
		var boards Boards
		for _, number := range slices.Sorted(maps.Keys(c.stream)) {
			message := c.stream[number]
			_, _, _ = boards.Apply(number, message.slot, message.data)
		}
		if fault := boards.Fault(1); !errors.Is(fault, c.want) || (fault == nil) != (boards.Board(1) != nil) {
			t.Errorf("%s: %v with board %v, want %v", name, fault, boards.Board(1), c.want)
		}
	}
}

func TestClosedSlotsAreNotRead(t *testing.T) {
	var boards Boards
	opened := entryText("1", `,"kind":"opened"`)
	if _, _, err := boards.Apply(1, 1, opened); err != nil {
		t.Fatal(err)
	}
	boards.Close(2)
	if _, _, err := boards.Apply(2, 1, opened); !errors.Is(err, ErrClosedSlot) || boards.Board(1) != nil ||
		boards.read != 2 {
		t.Errorf("%v, board %v, read %d", err, boards.Board(1), boards.read)
	}
	if _, _, err := boards.Apply(3, 2, opened); err != nil || boards.Board(2) == nil {
		t.Errorf("%v: the next slot is not read", err)
	}
}
