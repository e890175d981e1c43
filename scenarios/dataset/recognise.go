package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
)

// Format is a format of archives.
type Format struct {
	Name, Doc string
	Place     Place
	// Read reads the rows of an archive of text. It returns an error if the archive ends in the
	// middle or is not what it began as; single rows that are wrong go to the sink as bad.
	Read func(in io.Reader, from Origin, to Sink) error
	// ReadParquet reads the rows of a Parquet file. A format has this or Read.
	ReadParquet func(in parquet.ReaderAtSeeker, from Origin, to Sink) error
	// begins tells by its first bytes whether an archive of text has the format.
	begins func(head []byte) bool
	// columns are those that are read from a Parquet file. It has the format if it has the first ones.
	columns []string
	needed  int
}

// Formats are the formats that can be imported.
var Formats = append(ownFormats(),
	&relayscanCSV, &relayscanTSV, &DataAPI, &edenLines, &dataAPILines, &xatuBids, &xatuDelivered, &RunFacts,
	&mevboostBlocks, &xatuRegistrations, &edenBidsParquet, &edenPayloadsParquet, &plainCSV, &dataverseBids,
	&dataverseBlocks,
)

// HeadBytes is how much of an archive Recognise should see, unless the archive is shorter.
const HeadBytes = 16 << 10

// ErrNotRecognised is for content that no format has.
var ErrNotRecognised = errors.New("not recognised")

// Recognise finds an archive's format by its first bytes. An error wraps ErrNotRecognised and says
// what the content looks like.
func Recognise(head []byte) (*Format, error) {
	for _, f := range Formats {
		if f.begins != nil && f.begins(head) {
			return f, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrNotRecognised, describe(head))
}

// foreign are formats that are known by name and cannot be imported yet.
var foreign = []struct{ head, name string }{
	{"PAR1", "Parquet in a compressed file: decompress it first"},
	{"timestamp_ms,hash,chain_id,from,", "transactions of mempool-dumpster (CSV): cannot be imported yet"},
	{"timestamp_ms,hash,source", "a log of mempool-dumpster: cannot be imported yet"},
	{"timestamp_ms,hash,raw_tx", "a collector's file of mempool-dumpster: cannot be imported yet"},
}

// IsParquet tells whether a file begins as a Parquet file.
func IsParquet(head []byte) bool { return bytes.HasPrefix(head, []byte("PAR1")) }

// RecogniseParquet finds a Parquet file's format by its columns.
func RecogniseParquet(in parquet.ReaderAtSeeker) (*Format, error) {
	has, err := columnNames(in)
	if err != nil {
		return nil, err
	}
	for _, f := range Formats {
		if f.ReadParquet != nil && !slices.ContainsFunc(f.columns[:f.needed], func(name string) bool { return !has[name] }) {
			return f, nil
		}
	}
	return nil, fmt.Errorf("%w: Parquet with the columns %s; formats are listed in docs/replay.md", ErrNotRecognised,
		strings.Join(slices.Sorted(maps.Keys(has)), ", "))
}

func describe(head []byte) string {
	for _, f := range foreign {
		if bytes.HasPrefix(head, []byte(f.head)) {
			return f.name
		}
	}
	if len(bytes.TrimSpace(head)) == 0 {
		return "the file is empty"
	}
	first, _, _ := strings.Cut(string(head), "\n")
	return fmt.Sprintf("it begins with %q; formats are listed in docs/replay.md", cut(strings.TrimSpace(first)))
}
