package client

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// all reads a stream to its end.
func all(from io.Reader, maxLineBytes int) (got []string, err error) {
	for m := newMessages(from, maxLineBytes); ; {
		message, err := m.next()
		if err != nil {
			return got, err
		}
		got = append(got, fmt.Sprintf("%s=%s", message.id, message.data))
	}
}

// However the bytes come, the events are the same.
func TestMessages(t *testing.T) {
	for _, row := range []struct{ name, stream, want string }{
		{"as it should be", "data: {}\n\ndata: {\"a\":1}\n\n", `[={} ={"a":1}]`},
		{"with ids", "id: 1\ndata: a\n\nid: 2\ndata: b\n\n", "[1=a 2=b]"},
		{"an id holds until the next", "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", "[1=a 1=b =c]"},
		{"pings", ":ping\n\ndata: a\n\n: ping\n\n:\n\ndata: b\n:ping\n\n", "[=a =b]"},
		{"CR LF", "id: 1\r\ndata: a\r\n\r\ndata: b\r\n\r\n", "[1=a 1=b]"},
		{"CR", "data: a\r\rdata: b\r\rx\r", "[=a =b]"},
		{"no space", "data:a\n\ndata:  b\n\n", "[=a = b]"},
		{"several lines", "data: a\ndata: b\n\n", "[=a\nb]"},
		{"other fields", "event: x\nretry: 10\nfoo\ndata: a\nbar: baz\n\n", "[=a]"},
		{"nothing to say", "event: x\n\nid: 3\n\ndata: a\n\n", "[3=a]"},
		{"an id that may not be", "id: 1\x002\ndata: a\n\n", "[=a]"},
		{"a byte order mark", "\xef\xbb\xbfdata: a\n\n", "[=a]"},
		{"cut short", "data: a\n\ndata: b\n", "[=a]"},
		{"cut in a line", "data: a\n\ndata: b", "[=a]"},
		{"nothing", "", "[]"},
	} {
		for _, from := range []io.Reader{strings.NewReader(row.stream), iotest.OneByteReader(strings.NewReader(row.stream))} {
			got, err := all(from, 1000)
			if fmt.Sprint(got) != row.want || !errors.Is(err, io.EOF) {
				t.Errorf("%s: %v, %v, want %s", row.name, got, err, row.want)
			}
		}
	}
}

func TestMessagesAreBounded(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, row := range []struct {
		stream string
		want   error
	}{
		{"data: " + long[:90] + "\n\n", io.EOF},
		{"data: " + long + "\n\n", ErrLineTooLong},
		{":" + long + "\n\n", ErrLineTooLong},
		{strings.Repeat("data: x\n", 40) + "\n", io.EOF},
		{strings.Repeat("data: x\n", 60) + "\n", ErrLineTooLong},
		{long + long, ErrLineTooLong},
	} {
		if _, err := all(strings.NewReader(row.stream), 100); !errors.Is(err, row.want) {
			t.Errorf("%.20q of %d bytes: %v, want %v", row.stream, len(row.stream), err, row.want)
		}
	}
	broken := errors.New("cable")
	if _, err := all(iotest.ErrReader(broken), 100); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// Whatever comes, reading ends, no event is longer than allowed, and it makes no difference in what
// pieces it comes.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{"data: a\n\n", "id: 1\r\ndata: a\r\n\r\n", ":ping\n\n", "\xef\xbb\xbfdata:\n\n",
		"data: a\rdata: b\r\r", "data"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		const maxLineBytes = 64
		whole, err := all(strings.NewReader(stream), maxLineBytes)
		pieces, pieceErr := all(iotest.OneByteReader(strings.NewReader(stream)), maxLineBytes)
		if fmt.Sprint(whole, err) != fmt.Sprint(pieces, pieceErr) {
			t.Errorf("%q, %v in one piece; %q, %v in pieces", whole, err, pieces, pieceErr)
		}
		for _, message := range whole {
			if len(message) > 2*maxLineBytes+1 {
				t.Errorf("an event of %d bytes", len(message))
			}
		}
	})
}
