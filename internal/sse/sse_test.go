package sse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/sse"
)

// readAll reads a stream to its end, each event as "id type=data".
func readAll(from io.Reader, maxBytes int) (got []string, err error) {
	for r := sse.NewReader(from, maxBytes); ; {
		event, err := r.Next()
		if err != nil {
			return got, err
		}
		got = append(got, fmt.Sprintf("%s %s=%s", event.ID, event.Type, event.Data))
	}
}

// However the bytes come, the events are the same.
func TestReader(t *testing.T) {
	for _, row := range []struct{ name, stream, want string }{
		{"as it should be", "data: {}\n\ndata: {\"a\":1}\n\n", `[ ={}  ={"a":1}]`},
		{"with ids", "id: 1\ndata: a\n\nid: 2\ndata: b\n\n", "[1 =a 2 =b]"},
		{"an id holds until the next", "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", "[1 =a 1 =b  =c]"},
		{"a type holds for one event", "event: head\ndata: a\n\ndata: b\n\n", "[ head=a  =b]"},
		{"a type without data", "event: head\n\ndata: a\n\n", "[ =a]"},
		{"comments", ":ping\n\ndata: a\n\n: ping\n\n:\n\ndata: b\n:ping\n\n", "[ =a  =b]"},
		{"comments without blank lines", strings.Repeat(":ping\n", 1000) + "data: a\n\n", "[ =a]"},
		{"CR LF", "id: 1\r\ndata: a\r\n\r\ndata: b\r\n\r\n", "[1 =a 1 =b]"},
		{"CR", "data: a\r\rdata: b\r\rx\r", "[ =a  =b]"},
		{"no space", "data:a\n\ndata:  b\n\n", "[ =a  = b]"},
		{"several lines", "data: a\ndata: b\n\n", "[ =a\nb]"},
		{"empty data", "data:\n\ndata\n\n", "[ =  =]"},
		{"other fields", "retry: 10\nfoo\ndata: a\nbar: baz\n\n", "[ =a]"},
		{"an id without data", "id: 3\n\ndata: a\n\n", "[3 =a]"},
		{"an id that may not be", "id: 1\x002\ndata: a\n\n", "[ =a]"},
		{"a byte order mark", "\xef\xbb\xbfdata: a\n\n", "[ =a]"},
		{"cut short", "data: a\n\ndata: b\n", "[ =a]"},
		{"cut in a line", "data: a\n\ndata: b", "[ =a]"},
		{"nothing", "", "[]"},
	} {
		for _, from := range []io.Reader{strings.NewReader(row.stream), iotest.OneByteReader(strings.NewReader(row.stream))} {
			got, err := readAll(from, 1000)
			if fmt.Sprint(got) != row.want || !errors.Is(err, io.EOF) {
				t.Errorf("%s: %v, %v, want %s", row.name, got, err, row.want)
			}
		}
	}
}

func TestReaderIsBounded(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, row := range []struct {
		stream string
		want   error
	}{
		{"data: " + long[:90] + "\n\n", io.EOF},
		{"data: " + long + "\n\n", sse.ErrTooLong},
		{":" + long + "\n\n", sse.ErrTooLong},
		{strings.Repeat("data: x\n", 40) + "\n", io.EOF},
		{strings.Repeat("data: x\n", 60) + "\n", sse.ErrTooLong},
		{long + long, sse.ErrTooLong},
	} {
		if _, err := readAll(strings.NewReader(row.stream), 100); !errors.Is(err, row.want) {
			t.Errorf("%.20q of %d bytes: %v, want %v", row.stream, len(row.stream), err, row.want)
		}
	}
	broken := errors.New("cable")
	if _, err := readAll(iotest.ErrReader(broken), 100); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// What Append writes, a Reader reads.
func TestAppend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z_:]{0,8}`)
		line := rapid.StringMatching(`[ a-z:{}"]{0,8}`)
		var sent []sse.Event
		var stream []byte
		id := ""
		for range rapid.IntRange(0, 4).Draw(t, "events") {
			event := sse.Event{ID: word.Draw(t, "id"), Type: word.Draw(t, "type")}
			event.Data = []byte(strings.Join(rapid.SliceOfN(line, 1, 3).Draw(t, "data"), "\n"))
			stream = sse.Append(stream, event)
			if event.ID == "" {
				event.ID = id
			}
			id = event.ID
			sent = append(sent, event)
		}
		var got []sse.Event
		reader := sse.NewReader(bytes.NewReader(stream), 1000)
		event, err := reader.Next()
		for ; err == nil; event, err = reader.Next() {
			got = append(got, event)
		}
		if !errors.Is(err, io.EOF) || !reflect.DeepEqual(got, sent) {
			t.Fatalf("%q is read as %q, %v, want %q", stream, got, err, sent)
		}
	})
	const want = "id: 7\nevent: head\ndata: {}\n\n"
	if got := sse.Append(nil, sse.Event{ID: "7", Type: "head", Data: []byte("{}")}); string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A connection ends when nothing has come for the time that is allowed, and not before.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const longest = time.Minute
		began := time.Now()
		silentAfter := make(chan time.Duration, 1)
		watch := sse.NewWatch(longest, func() { silentAfter <- time.Since(began) })
		defer watch.Stop()
		from := watch.Reader(iotest.OneByteReader(strings.NewReader("::::")))
		for range 4 {
			<-time.After(longest - time.Nanosecond)
			if _, err := from.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := <-silentAfter, 5*longest-4*time.Nanosecond; got != want {
			t.Errorf("silent after %s, want %s", got, want)
		}
	})
}

// Whatever comes, reading ends, no event is longer than allowed, and it makes no difference in what
// pieces it comes.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"data: a\n\n", "id: 1\r\nevent: x\r\ndata: a\r\n\r\n", ":ping\n\n", "\xef\xbb\xbfdata:\n\n",
		"data: a\rdata: b\r\r", "data",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		const maxBytes = 64
		whole, err := readAll(strings.NewReader(stream), maxBytes)
		pieces, pieceErr := readAll(iotest.OneByteReader(strings.NewReader(stream)), maxBytes)
		if fmt.Sprint(whole, err) != fmt.Sprint(pieces, pieceErr) {
			t.Errorf("%q, %v in one piece; %q, %v in pieces", whole, err, pieces, pieceErr)
		}
		for _, event := range whole {
			if len(event) > 3*maxBytes+2 {
				t.Errorf("an event of %d bytes", len(event))
			}
		}
	})
}
