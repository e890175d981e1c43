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
	// parquet is not nil for a Parquet file, which is read out of order.
	parquet *io.SectionReader
	// instances are those of dataset.Origin, if the source is a run.
	instances map[string]string
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
	whole := io.NewSectionReader(file, 0, size)
	if dataset.IsParquet(head[:n]) {
		return file, []source{{id: id, name: path, parquet: whole}}, nil
	}
	if !bytes.HasPrefix(head[:n], []byte("PK\x03\x04")) {
		open := func() (io.ReadCloser, error) { return io.NopCloser(whole), nil }
		return file, []source{{id: id, name: path, open: open}}, nil
	}
	archive, err := zip.NewReader(file, size)
	if err != nil {
		return nil, nil, fmt.Errorf("open the zip archive: %w: is it complete", err)
	}
	for _, entry := range archive.File {
		if entry.FileInfo().IsDir() {
			continue
		}
		sources = append(sources, source{id: id + "/" + entry.Name, name: path + "/" + entry.Name, open: entry.Open})
	}
	return file, sources, nil
}

// recognise opens a source, finds its format, and returns how its rows are read. The caller closes
// what is not nil.
func (s source) recognise() (format *dataset.Format, read func(dataset.Origin, dataset.Sink) error, closer io.Closer,
	err error) {
	if s.parquet != nil {
		if format, err = dataset.RecogniseParquet(s.parquet); err != nil {
			return nil, nil, nil, err
		}
		return format, func(from dataset.Origin, to dataset.Sink) error {
			return format.ReadParquet(s.parquet, from, to)
		}, nil, nil
	}
	stream, err := s.open()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("open: %w", err)
	}
	format, text, err := plain(stream)
	if err != nil {
		return nil, nil, stream, err
	}
	return format, func(from dataset.Origin, to dataset.Sink) error { return format.Read(text, from, to) }, stream, nil
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
