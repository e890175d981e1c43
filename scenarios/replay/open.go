package replay

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zip"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// source is one stream of rows: a file, or an entry of a zip archive.
type source struct {
	id, name string
	open     func() (io.ReadCloser, error)
}

// openSources reads a file once for its hash and lists what is in it. The caller closes the file.
func openSources(path string) (file *os.File, sources []source, err error) {
	if file, err = os.Open(path); err != nil {
		return nil, nil, fmt.Errorf("open: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err != nil {
		return nil, nil, fmt.Errorf("read: %w", err)
	}
	id := hex.EncodeToString(sum.Sum(nil)[:8])
	head := make([]byte, 4)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("read: %w", err)
	}
	if !bytes.HasPrefix(head[:n], []byte("PK\x03\x04")) {
		return file, []source{{id, path, func() (io.ReadCloser, error) {
			return io.NopCloser(io.NewSectionReader(file, 0, size)), nil
		}}}, nil
	}
	archive, err := zip.NewReader(file, size)
	if err != nil {
		return nil, nil, fmt.Errorf("open the zip archive: %w: is it complete", err)
	}
	for _, entry := range archive.File {
		if entry.FileInfo().IsDir() {
			continue
		}
		sources = append(sources, source{id + "/" + entry.Name, path + "/" + entry.Name, entry.Open})
	}
	return file, sources, nil
}

// maxLayers is how often content may be compressed within itself.
const maxLayers = 3

// plain decompresses what is gzip and recognises the format of what comes out.
func plain(in io.Reader) (*dataset.Format, io.Reader, error) {
	for range maxLayers {
		buffered := bufio.NewReaderSize(in, dataset.HeadBytes)
		head, err := buffered.Peek(dataset.HeadBytes)
		// The rows before a break are read; the error comes again where they end.
		if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
			return nil, nil, fmt.Errorf("decompress: %w", err)
		}
		if !bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
			if mark := []byte("\xef\xbb\xbf"); bytes.HasPrefix(head, mark) { // some editors begin text with it
				head = head[len(mark):]
				if _, err := buffered.Discard(len(mark)); err != nil {
					return nil, nil, fmt.Errorf("read: %w", err)
				}
			}
			format, err := dataset.Recognise(head)
			return format, buffered, err
		}
		if in, err = gzip.NewReader(buffered); err != nil {
			return nil, nil, fmt.Errorf("decompress: %w", err)
		}
	}
	return nil, nil, fmt.Errorf("%w: compressed more than %d times", dataset.ErrNotRecognised, maxLayers)
}
