package ledger

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/rpc"
)

func TestCursorsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := position{block: rapid.Uint64().Draw(t, "block"), seq: rapid.Uint64().Draw(t, "seq")}
		query := rapid.String().Draw(t, "query")
		if got, err := positionOf(want.cursor(query), query); err != nil || got != want {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
	})
}

// A cursor is for the query that it came from; all else is refused, and is never a panic.
func TestWrongCursors(t *testing.T) {
	l := openAt(t, "sqlite::memory:", Config{})
	record(t, l, credited(1, 5, 0, alice, wei(1)), credited(2, 5, 0, alice, wei(1)),
		late(credited(3, 5, 0, alice, wei(1))), indexed(5, 0))
	page, err := l.ByRecipient(t.Context(), noon, alice, "", 1)
	if err != nil || page.Cursor == "" {
		t.Fatal(page, err)
	}
	good := page.Cursor
	if page, err := l.ByRecipient(t.Context(), noon, alice, good, 5); told(t, page, err) != "2:1 3:1" {
		t.Errorf("the second page: %+v", page)
	}
	raw, err := base64.RawURLEncoding.DecodeString(good)
	if err != nil {
		t.Fatal(err)
	}
	newer := append([]byte{cursorVersion + 1}, raw[1:]...)
	for name, cursor := range map[string]string{
		"no text of ours": "?", "too short": good[:8], "too long": good + "AAAA", "padded": good + "==",
		"another version": base64.RawURLEncoding.EncodeToString(newer),
		"upper case":      strings.ToUpper(good), "a number": "0x5", "spaces": " " + good, "a second line": good[:4] +
			"\n" + good[4:],
	} {
		if _, err := l.ByRecipient(t.Context(), noon, alice, cursor, 1); !isRefused(err, rpc.InvalidCursor) {
			t.Errorf("%s: %v, want %s", name, err, rpc.InvalidCursor.ID)
		}
	}
	five := uint64(5)
	for name, ask := range map[string]func() error{
		"another recipient": func() error { _, err := l.ByRecipient(t.Context(), noon, bob, good, 1); return err },
		"a bundle":          func() error { _, err := l.ByBundle(t.Context(), noon, common.Hash{1}, good, 1); return err },
		"a block":           func() error { _, err := l.ByBlock(t.Context(), noon, 5, good, 1); return err },
		"delayed ones": func() error {
			_, err := l.Delayed(t.Context(), rpc.DelayedQuery{Recipient: alice}, good, 1)
			return err
		},
		"a range": func() error {
			all, err := l.Delayed(t.Context(), rpc.DelayedQuery{Recipient: alice, ToBlock: new(uint64(9))}, "", 1)
			if err != nil || all.Cursor == "" {
				t.Fatal(all, err)
			}
			_, err = l.Delayed(t.Context(), rpc.DelayedQuery{Recipient: alice, ToBlock: &five}, all.Cursor, 1)
			return err
		},
	} {
		if err := ask(); !isRefused(err, rpc.InvalidCursor) {
			t.Errorf("for %s: %v, want %s", name, err, rpc.InvalidCursor.ID)
		}
	}
}

// Whatever comes as a cursor is refused, or is one that we would have given.
func FuzzCursor(f *testing.F) {
	f.Add("", "recipient")
	f.Add(position{5, 7}.cursor("recipient"), "recipient")
	f.Add("AQ", "block 5")
	f.Fuzz(func(t *testing.T, cursor, query string) {
		got, err := positionOf(cursor, query)
		switch {
		case err != nil:
			if !isRefused(err, rpc.InvalidCursor) {
				t.Errorf("%v", err)
			}
		case cursor != "" && got.cursor(query) != cursor:
			t.Errorf("%q is read as %v, which is %q", cursor, got, got.cursor(query))
		}
	})
}
