package serve

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// deflated is a stream at a level of compress/flate.
func deflated(t testing.TB, level int, plain []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, level)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(plain)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// samples are texts of all kinds of blocks: stored, with the fixed codes, and with codes of their
// own.
func samples() map[string][]byte {
	noise := make([]byte, 200_000)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	digits := make([]byte, 200_000)
	for i := range digits {
		digits[i] = "0123456789abcdef"[random.Uint32()%16]
	}
	return map[string][]byte{
		"nothing": {}, "a letter": []byte("a"), "noise": noise, "digits": digits,
		"repeats": bytes.Repeat([]byte("gavel "), 50_000), "zeros": make([]byte, 300_000),
	}
}

func TestDecompress(t *testing.T) {
	decoder := newInflater()
	for name, plain := range samples() {
		for _, level := range []int{flate.HuffmanOnly, flate.NoCompression, flate.BestSpeed, flate.BestCompression} {
			sent := deflated(t, level, plain)
			to := make([]byte, len(plain))
			read, written, err := decoder.Decompress(to, append(bytes.Clone(sent), "behind it"...))
			if err != nil || read != len(sent) || written != len(plain) || !bytes.Equal(to, plain) {
				t.Errorf("%s at level %d: %d of %d bytes read, %d of %d written, %v", name, level, read, len(sent),
					written, len(plain), err)
			}
			if _, _, err := decoder.Decompress(to, sent[:len(sent)-1]); !errors.Is(err, errCorrupt) {
				t.Errorf("%s at level %d, a byte short: %v", name, level, err)
			}
			if len(plain) == 0 {
				continue
			}
			if _, _, err := decoder.Decompress(to[:len(to)-1], sent); !errors.Is(err, errInflatesTooLong) {
				t.Errorf("%s at level %d, without room for a byte: %v", name, level, err)
			}
		}
	}
}

// It writes nothing behind its room, however much the stream has.
func TestDecompressStaysInItsRoom(t *testing.T) {
	for name, plain := range samples() {
		sent := deflated(t, flate.DefaultCompression, plain)
		for room := 0; room <= min(len(plain), 600); room++ {
			memory := bytes.Repeat([]byte{0xa5}, room+64)
			_, _, err := newInflater().Decompress(memory[:room:room], sent)
			if (err == nil) != (room >= len(plain)) || !bytes.Equal(memory[room:], bytes.Repeat([]byte{0xa5}, 64)) {
				t.Fatalf("%s in %d bytes: %v, behind them is %x", name, room, err, memory[room:])
			}
		}
	}
}

// Nobody edits the C source: what is mended upstream comes as a new version.
func TestSourceIsAsPublished(t *testing.T) {
	listed, err := os.ReadFile("libdeflate.sha256")
	if err != nil {
		t.Fatal(err)
	}
	var found strings.Builder
	err = filepath.WalkDir("libdeflate", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&found, "%x  %s\n", sha256.Sum256(text), strings.TrimPrefix(filepath.ToSlash(path), "libdeflate/"))
		return err
	})
	if err != nil || found.String() != string(listed) {
		t.Errorf("%v; the folder has\n%swant\n%s", err, found.String(), listed)
	}
}

// FuzzDecompress compares with compress/flate: what it reads, libdeflate reads, to the same bytes
// and of the same length.
func FuzzDecompress(f *testing.F) {
	for _, plain := range samples() {
		f.Add(deflated(f, flate.DefaultCompression, plain[:min(len(plain), 3000)]))
	}
	f.Add([]byte{3, 0, 3, 0})
	const most = 1 << 20
	to := make([]byte, most)
	f.Fuzz(func(t *testing.T, sent []byte) {
		read, written, err := newInflater().Decompress(to, sent)
		from := bytes.NewReader(sent)
		plain, theirs := io.ReadAll(io.LimitReader(flate.NewReader(from), most+1))
		switch {
		case theirs != nil && err == nil: // see Decompress
		case theirs != nil:
		case len(plain) > most:
			if !errors.Is(err, errInflatesTooLong) {
				t.Fatalf("more than %d bytes: %v", most, err)
			}
		case err != nil || !bytes.Equal(to[:written], plain) || read != len(sent)-from.Len():
			t.Fatalf("%d of %d bytes read, %d written, %v; compress/flate read %d and wrote %d", read, len(sent), written,
				err, len(sent)-from.Len(), len(plain))
		}
	})
}
