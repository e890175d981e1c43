package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Format is a format of archives.
type Format struct {
	Name, Doc string
	Place     Place
	// Read reads the rows of an archive of text. It returns an error if the archive ends in the
	// middle or is not what it began as; single rows that are wrong go to the sink as bad.
	Read func(in io.Reader, from Origin, to Sink) error
	// begins tells by its first bytes whether an archive has the format.
	begins func(head []byte) bool
}

// Formats are the formats that can be imported.
var Formats = []*Format{&relayscanCSV, &relayscanTSV, &edenLines, &dataAPILines, &dataAPIArray}

// HeadBytes is how much of an archive Recognise should see, unless the archive is shorter.
const HeadBytes = 16 << 10

// ErrNotRecognised is for content that no format has.
var ErrNotRecognised = errors.New("not recognised")

// Recognise finds an archive's format by its first bytes. An error wraps ErrNotRecognised and says
// what the content looks like.
func Recognise(head []byte) (*Format, error) {
	for _, f := range Formats {
		if f.begins(head) {
			return f, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrNotRecognised, describe(head))
}

// foreign are formats that are known by name and cannot be imported yet.
var foreign = []struct{ head, name string }{
	{"PAR1", "Parquet: none of its tables can be imported yet"},
	{"timestamp_ms,hash,chain_id,from,", "transactions of mempool-dumpster (CSV): cannot be imported yet"},
	{"timestamp_ms,hash,source", "a log of mempool-dumpster: cannot be imported yet"},
	{"timestamp_ms,hash,raw_tx", "a collector's file of mempool-dumpster: cannot be imported yet"},
	{`{"seq":`, "facts of a run folder: cannot be imported yet"},
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
