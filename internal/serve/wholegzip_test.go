package serve

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// bigBody is a body of which gzip saves a quarter.
func bigBody(bytes int) []byte {
	body := make([]byte, bytes)
	random := rand.New(rand.NewPCG(3, 4))
	for i := range body {
		body[i] = byte(random.Uint32() % 64)
	}
	return body
}

// withTrailer is a member with another trailer.
func withTrailer(member []byte, change func(checksum, length []byte)) []byte {
	member = bytes.Clone(member)
	trailer := member[len(member)-gzipTrailer:]
	change(trailer[:4], trailer[4:])
	return member
}

// readCounting reads a body, and returns also how often more of it had come.
func readCounting(body io.Reader, announced int64, limit int64) (read []byte, times int, err error) {
	r := httptest.NewRequest("POST", "/", body)
	r.ContentLength = announced
	r.Header.Set("Content-Encoding", "gzip")
	read, err = ReadBodyAsItComes(httptest.NewRecorder(), r, limit, func([]byte) { times++ }, "gzip")
	return read, times, err
}

// What is decompressed as a whole and what is decompressed as it comes, which a body without a
// length is, are the same, and refused for the same reasons.
func TestGzipAsAWhole(t *testing.T) {
	plain := bigBody(300_000)
	sent := gzipped(t, plain)
	var named bytes.Buffer
	w := gzip.NewWriter(&named)
	w.Name = "body"
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	bent := bytes.Clone(sent)
	bent[len(bent)/2] ^= 0xff
	for _, row := range []struct {
		name    string
		sent    []byte
		limit   int64
		want    error
		asWhole bool
	}{
		{"a body", sent, 1 << 20, nil, true},
		{"up to the limit", sent, int64(len(plain)), nil, true},
		{"a byte over the limit", sent, int64(len(plain) - 1), ErrTooLarge, false},
		{"shorter than what is decompressed as a whole", gzipped(t, plain[:50_000]), 1 << 20, nil, false},
		{"longer", gzipped(t, bigBody(wholeMost*3/2)), 8 << 20, nil, false},
		{"with a name", named.Bytes(), 1 << 20, nil, false},
		{"two members", append(bytes.Clone(sent), sent...), 1 << 20, nil, false},
		{"something behind it", append(bytes.Clone(sent), "tail"...), 1 << 20, ErrUnreadable, false},
		{"something before the trailer", append(append(bytes.Clone(sent[:len(sent)-gzipTrailer]), 0),
			sent[len(sent)-gzipTrailer:]...), 1 << 20, ErrUnreadable, false},
		{"cut short", sent[:len(sent)-1], 1 << 20, ErrUnreadable, false},
		{"bent", bent, 1 << 20, ErrUnreadable, false},
		{"not gzip", plain, 1 << 20, ErrUnreadable, false},
		{"a wrong checksum", withTrailer(sent, func(checksum, _ []byte) { checksum[0] ^= 1 }), 1 << 20, ErrUnreadable, false},
		{"a length of one less", withTrailer(sent, func(_, length []byte) { length[0]-- }), 1 << 20, ErrUnreadable, false},
		{"a length of one more", withTrailer(sent, func(_, length []byte) { length[0]++ }), 1 << 20, ErrUnreadable, false},
		{"a length of 4 GiB", withTrailer(sent, func(_, length []byte) { copy(length, "\xff\xff\xff\xff") }), 1 << 20,
			ErrUnreadable, false},
		{"a bomb", gzipped(t, make([]byte, 80<<20)), 100 << 20, nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			asStream, _, streamErr := readCounting(bytes.NewReader(row.sent), -1, row.limit)
			body, times, err := readCounting(bytes.NewReader(row.sent), int64(len(row.sent)), row.limit)
			if !errors.Is(err, row.want) || !errors.Is(streamErr, row.want) {
				t.Errorf("%v, and as a stream %v; want %v", err, streamErr, row.want)
			}
			if !bytes.Equal(body, asStream) || err == nil && len(body) == 0 {
				t.Errorf("%d bytes, as a stream %d", len(body), len(asStream))
			}
			if asWhole := err == nil && times == 1; asWhole != row.asWhole && len(row.sent) > wholeLeast {
				t.Errorf("it came in %d parts", times)
			}
			if err == nil && cap(body)-len(body) < 8 {
				t.Errorf("%d bytes in a buffer of %d", len(body), cap(body))
			}
			if len(wholePlaces) != cap(wholePlaces) {
				t.Errorf("%d of %d places are left", len(wholePlaces), cap(wholePlaces))
			}
		})
	}
}

// slowly is a body whose second half comes later.
type slowly struct {
	halves [2][]byte
	later  time.Duration
	failed error
}

func (s *slowly) Read(p []byte) (int, error) {
	if len(s.halves[0]) == 0 && len(s.halves[1]) > 0 {
		time.Sleep(s.later)
		if s.failed != nil {
			return 0, s.failed
		}
		s.halves[0], s.halves[1] = s.halves[1], nil
	}
	if len(s.halves[0]) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.halves[0])
	s.halves[0] = s.halves[0][n:]
	return n, nil
}

// A body that is still on the way is decompressed as it comes, from its first byte on.
func TestGzipThatComesLater(t *testing.T) {
	plain := bigBody(300_000)
	sent := gzipped(t, plain)
	for _, row := range []struct {
		name    string
		later   time.Duration
		failed  error
		want    error
		asWhole bool
	}{
		{"in time", atOnce - 1, nil, nil, true},
		{"too late", atOnce + 1, nil, nil, false},
		{"never", 0, io.ErrUnexpectedEOF, ErrUnreadable, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			half := len(sent) / 2
			from := &slowly{[2][]byte{sent[:half], sent[half : len(sent)-100]}, row.later, row.failed}
			body, times, err := readCounting(io.MultiReader(from, bytes.NewReader(sent[len(sent)-100:])),
				int64(len(sent)), 1<<20)
			if !errors.Is(err, row.want) || err == nil && (!bytes.Equal(body, plain) || (times == 1) != row.asWhole) {
				t.Errorf("%s: %d bytes in %d parts: %v", row.name, len(body), times, err)
			}
		})
	}
}

// While all places are in use, bodies are decompressed as they come.
func TestGzipWithoutAPlace(t *testing.T) {
	var taken []*wholePlace
	for range cap(wholePlaces) {
		taken = append(taken, <-wholePlaces)
	}
	plain := bigBody(300_000)
	sent := gzipped(t, plain)
	if body, times, err := readCounting(bytes.NewReader(sent), int64(len(sent)), 1<<20); err != nil || times == 1 ||
		!bytes.Equal(body, plain) {
		t.Errorf("%d bytes in %d parts: %v", len(body), times, err)
	}
	for _, place := range taken {
		wholePlaces <- place
	}
}

// A body is charged for what it decompresses to before that is allocated, and for no more, also if
// its trailer lies.
func TestGzipAsAWholeIsCharged(t *testing.T) {
	sent := gzipped(t, bigBody(300_000))
	lying := withTrailer(sent, func(_, length []byte) {
		binary.LittleEndian.PutUint32(length, uint32(wholeGrowth*len(sent)))
	})
	for _, row := range []struct {
		name   string
		sent   []byte
		room   int64
		status int
		held   int64
	}{
		{"room for it", sent, 1 << 20, http.StatusOK, 300_000 + spare},
		{"no room", sent, 250_000, http.StatusServiceUnavailable, 0},
		{"a length that is a lie", lying, 2 << 20, http.StatusBadRequest, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				room := NewBodyPool(row.room, row.room)
				other := room.enter("another", func() {})
				if err := other.take(t.Context(), 1, 0); err != nil {
					t.Fatal(err)
				}
				budget := BodyBudget{PoolOf: func(*http.Request) (*BodyPool, string) { return room, "sender" }}
				w := httptest.NewRecorder()
				budget.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, err := ReadBody(w, r, 2<<20, "gzip")
					switch {
					case errors.Is(err, ErrBusy):
						w.WriteHeader(http.StatusServiceUnavailable)
					case err != nil:
						w.WriteHeader(http.StatusBadRequest)
					case room.Held() != row.held+1:
						t.Errorf("%d bytes are charged, want %d", room.Held()-1, row.held)
					}
				})).ServeHTTP(w, gzipRequest(row.sent))
				if w.Code != row.status || room.Held() != 1 {
					t.Errorf("%d, want %d; %d bytes are held behind it", w.Code, row.status, room.Held()-1)
				}
			})
		})
	}
}

func gzipRequest(sent []byte) *http.Request {
	r := httptest.NewRequest("POST", "/", strings.NewReader(string(sent)))
	r.Header.Set("Content-Encoding", "gzip")
	return r
}

// FuzzGzipAsAWhole: what is decompressed as a whole is what compress/gzip reads.
func FuzzGzipAsAWhole(f *testing.F) {
	for _, plain := range [][]byte{nil, []byte("a"), bytes.Repeat([]byte("gavel"), 100), bigBody(1000)} {
		sent := gzipped(f, plain)
		f.Add(sent)
		f.Add(append(sent, sent...))
	}
	const limit = 1 << 20
	decoder := newInflater()
	f.Fuzz(func(t *testing.T, sent []byte) {
		if len(sent) < gzipHeader+gzipTrailer {
			return // far below wholeLeast
		}
		b := buffer{most: limit + bytes.MinRead, arrived: func([]byte) {}}
		done, err := b.decompressWhole(decoder, sent)
		if err != nil || !done {
			return
		}
		from, err := gzip.NewReader(bytes.NewReader(sent))
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := io.ReadAll(from); err == nil && !bytes.Equal(plain, b.bytes) {
			t.Fatalf("%d bytes, compress/gzip reads %d", len(b.bytes), len(plain))
		}
	})
}
