package serve

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func gzipped(t testing.TB, plain []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zstandard(t testing.TB, plain []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(plain, nil)
}

func TestReadBody(t *testing.T) {
	const limit = 1000
	full, over := bytes.Repeat([]byte("a"), limit), bytes.Repeat([]byte("a"), limit+1)
	noise := make([]byte, limit+1)
	for i := range noise {
		noise[i] = byte(i * i * 31 >> 3)
	}
	for _, row := range []struct {
		name, encoding string
		sent           []byte
		want           error
	}{
		{"nothing", "", nil, nil},
		{"up to the limit", "", full, nil},
		{"a byte over", "", over, ErrTooLarge},
		{"identity", "identity", full, nil},
		{"gzip up to the limit", "gzip", gzipped(t, full), nil},
		{"gzip in capitals", "GZIP", gzipped(t, full), nil},
		{"gzip a byte over", "gzip", gzipped(t, over), ErrTooLarge},
		{"gzip larger than the limit as sent", "gzip", append(gzipped(t, full), gzipped(t, noise)...), ErrTooLarge},
		{"zstd up to the limit", "zstd", zstandard(t, full), nil},
		{"zstd a byte over", "zstd", zstandard(t, over), ErrTooLarge},
		{"plain that says gzip", "gzip", full, ErrUnreadable},
		{"plain that says zstd", "zstd", full, ErrUnreadable},
		{"gzip cut short", "gzip", gzipped(t, full)[:20], ErrUnreadable},
		{"zstd cut short", "zstd", zstandard(t, full)[:15], ErrUnreadable},
		{"gzip with something behind", "gzip", append(gzipped(t, full[:10]), "tail"...), ErrUnreadable},
		{"another encoding", "br", full, ErrEncoding},
		{"an encoding in an encoding", "gzip, gzip", gzipped(t, gzipped(t, full)), ErrEncoding},
	} {
		for _, announced := range []bool{true, false} {
			r := httptest.NewRequest("POST", "/", bytes.NewReader(row.sent))
			if !announced {
				r.ContentLength = -1 // chunked
			}
			if row.encoding != "" {
				r.Header.Set("Content-Encoding", row.encoding)
			}
			got, err := ReadBody(httptest.NewRecorder(), r, limit, "gzip", "zstd")
			if !errors.Is(err, row.want) {
				t.Errorf("%s, announced %v: %v, want %v", row.name, announced, err, row.want)
			}
			if err == nil && len(got) != len(full) && len(row.sent) > 0 {
				t.Errorf("%s, announced %v: %d bytes come back", row.name, announced, len(got))
			}
		}
	}
}

// An encoding that the operation does not take is refused even though we know it.
func TestReadBodyTakesOnlyTheNamedEncodings(t *testing.T) {
	r := httptest.NewRequest("POST", "/", bytes.NewReader(zstandard(t, []byte("a"))))
	r.Header.Set("Content-Encoding", "zstd")
	if _, err := ReadBody(httptest.NewRecorder(), r, 1000, "gzip"); !errors.Is(err, ErrEncoding) {
		t.Errorf("%v", err)
	}
}

// endless repeats the same bytes without end.
type endless struct {
	member []byte
	at     int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.member[e.at:])
	e.at = (e.at + n) % len(e.member)
	return n, nil
}

// A bomb that never ends costs no more than a body at the limit, in time and in memory.
func TestBombEndsAtTheLimit(t *testing.T) {
	const limit = 1 << 20
	zeros := make([]byte, limit/2)
	for encoding, member := range map[string][]byte{"gzip": gzipped(t, zeros), "zstd": zstandard(t, zeros), "": zeros} {
		bomb := &endless{member: member}
		r := httptest.NewRequest("POST", "/", bomb)
		r.ContentLength = -1
		r.Header.Set("Content-Encoding", encoding)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ReadBody(httptest.NewRecorder(), r, limit, "gzip", "zstd")
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("%q: %v", encoding, err)
		}
		// Growing by doubling costs four times the limit; the rest is for zstd's window and tables.
		if used := after.TotalAlloc - before.TotalAlloc; used > 32*limit {
			t.Errorf("%q: %d bytes were allocated for a limit of %d", encoding, used, limit)
		}
	}
}

// What the first frame of a zstd stream asks us to remember is what all of it gets, and never more
// than 8 MiB.
func TestZstdWindow(t *testing.T) {
	frame := func(window int) []byte { // of unknown length, so that the window is not cut to it
		var out bytes.Buffer
		w, err := zstd.NewWriter(&out, zstd.WithWindowSize(window))
		if err == nil {
			_, err = w.Write(make([]byte, 1000))
		}
		if err = errors.Join(err, w.Flush(), w.Close()); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	for _, row := range []struct {
		name string
		sent []byte
		want error
	}{
		{"the greatest", frame(zstdWindow), nil},
		{"greater", frame(2 * zstdWindow), ErrUnreadable},
		{"two alike", append(frame(1<<20), frame(1<<20)...), nil},
		{"a second that is smaller", append(frame(1<<20), frame(1<<19)...), nil},
		{"a second that is greater", append(frame(1<<20), frame(1<<21)...), ErrUnreadable},
	} {
		r := httptest.NewRequest("POST", "/", bytes.NewReader(row.sent))
		r.Header.Set("Content-Encoding", "zstd")
		if _, err := ReadBody(httptest.NewRecorder(), r, 10_000, "zstd"); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
	}
}

// Who announces a large body gets no memory for it before it comes.
func TestAnnouncedLengthIsNotBelieved(t *testing.T) {
	const limit = 1 << 30
	r := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader("a")))
	r.ContentLength = limit
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := ReadBody(httptest.NewRecorder(), r, limit); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 8*firstBytes {
		t.Errorf("%d bytes were allocated", used)
	}
}

// A caller may put a trailer behind a body of an announced length without copying it.
func TestThereIsRoomBehindABody(t *testing.T) {
	r := httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("x", 100_000)))
	body, err := ReadBody(httptest.NewRecorder(), r, 1<<20)
	if err != nil || cap(body)-len(body) < 8 {
		t.Errorf("%d bytes in a buffer of %d, %v", len(body), cap(body), err)
	}
}
