package serve

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// packed is a body in an encoding.
func packed(t testing.TB, encoding string, plain []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var to io.WriteCloser = gzip.NewWriter(&out)
	if encoding == "zstd" {
		var err error
		if to, err = zstd.NewWriter(&out); err != nil {
			t.Fatal(err)
		}
	}
	_, err := to.Write(plain)
	if err = errors.Join(err, to.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A decoder is used for one body after another. Nothing of a body is in the next one, however the
// one before ended, and no two bodies have the same decoder at a time.
func TestDecodersAreUsedAgain(t *testing.T) {
	for _, encoding := range []string{"gzip", "zstd"} {
		t.Run(encoding, func(t *testing.T) {
			var senders sync.WaitGroup
			for sender := range 4 {
				senders.Go(func() {
					for round := range 7 {
						plain := bytes.Repeat(fmt.Appendf(nil, "body %d of %d, ", round, sender), 1+100*round*round)
						sent := packed(t, encoding, plain)
						bent := bytes.Clone(sent)
						bent[len(bent)/2] ^= 0xff
						for _, wrong := range [][]byte{sent[:len(sent)/2], bent, []byte("no " + encoding)} {
							if body, err := readPacked(encoding, wrong, 1<<20); !errors.Is(err, ErrUnreadable) && !bytes.Equal(body, plain) {
								t.Errorf("%d bytes that are wrong are a body of %d: %v", len(wrong), len(body), err)
							}
						}
						if _, err := readPacked(encoding, sent, int64(len(plain)-1)); !errors.Is(err, ErrTooLarge) {
							t.Errorf("a body that is too large: %v", err)
						}
						if body, err := readPacked(encoding, sent, 1<<20); err != nil || !bytes.Equal(body, plain) {
							t.Errorf("body %d: %d bytes, want %d: %v", round, len(body), len(plain), err)
						}
					}
				})
			}
			senders.Wait()
		})
	}
}

func readPacked(encoding string, sent []byte, limit int64) ([]byte, error) {
	r := httptest.NewRequest("POST", "/", bytes.NewReader(sent))
	r.Header.Set("Content-Encoding", encoding)
	return ReadBody(httptest.NewRecorder(), r, limit, "gzip", "zstd")
}

// A small body after one with a large window does not get the large one's decoder, whose memory it
// has not paid for.
func TestDecoderIsPaidFor(t *testing.T) {
	for needed, want := range map[int64]int64{1 << 10: 1 << 10, 1<<10 + 1: 1 << 11, 1 << 20: 1 << 20, 3 << 20: 4 << 20,
		zstdWindow: zstdWindow} {
		if got := int64(1) << windowBits(needed); got != want {
			t.Errorf("a window of %d bytes is paid as %d, want %d", needed, got, want)
		}
		decoder, err := newZstdDecoder(bytes.NewReader(nil), want)
		if err != nil {
			t.Fatal(err)
		}
		if decoder.kept != &zstdDecoders[windowBits(want)] {
			t.Errorf("a decoder with a window of %d bytes is kept with others", want)
		}
		if err := decoder.Close(); err != nil {
			t.Error(err)
		}
	}
}
