package api

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
)

// The media types of an answer, the preferred first. Refusals are always JSON.
const (
	mediaJSON   = "application/json"
	mediaCSV    = "text/csv"             // RFC 4180 with the line of names, lines ended by LF
	mediaNDJSON = "application/x-ndjson" // one item a line, as it stands in the JSON answer
)

// item is one item of an answer. It can be marshalled to JSON or written as a line of a table.
type item interface {
	// columns are the names of its cells, those of the JSON fields.
	columns() []string
	cells() []string
}

// negotiateFirst reads Accept before an operation runs, so that no query is made for an answer that
// the client does not accept.
func negotiateFirst(operation func(w http.ResponseWriter, r *http.Request, media string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept")
		media, ok := serve.Negotiate(r, mediaJSON, mediaCSV, mediaNDJSON)
		if !ok {
			Refuse(w, r, relay.NotAcceptable.Plain())
			return
		}
		operation(w, r, media)
	}
}

// answerList answers with a list, which is never null.
func answerList[I item](w http.ResponseWriter, r *http.Request, media string, list []I) {
	encoded, err := encodeList(media, list)
	if err != nil {
		Refuse(w, r, err)
		return
	}
	serve.Bytes(w, http.StatusOK, media, encoded.raw)
}

// answerOne answers with a single item: an object in JSON, a list of one item otherwise.
func answerOne[I item](w http.ResponseWriter, r *http.Request, media string, one I) {
	if media == mediaJSON {
		serve.JSON(w, r, http.StatusOK, one)
		return
	}
	answerList(w, r, media, []I{one})
}

// page is an encoded list.
type page struct {
	raw     []byte
	lengths []int32 // of the encoded items, in bytes
}

// frame is the text before, between and after the items of a list.
type frame struct{ head, between, end string }

func frameOf[I item](media string) frame {
	switch media {
	case mediaJSON:
		return frame{"[", ",", "]"}
	case mediaCSV: // the line of names comes even if the list is empty
		var none I
		var head bytes.Buffer
		_ = writeLine(&head, none.columns()) // writing to a buffer does not fail
		return frame{head: head.String()}
	}
	return frame{}
}

// encodeList encodes a list in a media type.
func encodeList[I item](media string, list []I) (page, error) {
	f := frameOf[I](media)
	body := bytes.NewBufferString(f.head)
	p := page{lengths: make([]int32, len(list))}
	for i, one := range list {
		if i > 0 {
			body.WriteString(f.between)
		}
		begin := body.Len()
		if err := writeItem(body, media, one); err != nil {
			return page{}, err
		}
		p.lengths[i] = int32(body.Len() - begin) // an item is short
	}
	body.WriteString(f.end)
	p.raw = body.Bytes()
	return p, nil
}

func writeItem(body *bytes.Buffer, media string, one item) error {
	switch media {
	case mediaCSV:
		return writeLine(body, one.cells())
	case mediaNDJSON:
		return json.NewEncoder(body).Encode(one) // ends with LF
	}
	raw, err := json.Marshal(one)
	body.Write(raw)
	return err
}

func writeLine(body *bytes.Buffer, cells []string) error {
	line := csv.NewWriter(body)
	if err := line.Write(cells); err != nil {
		return err
	}
	line.Flush()
	return line.Error()
}

// before returns a page with p's items followed by those of an older page, at most so many in all.
// It changes neither page.
func (p page) before(older page, most int, f frame) page {
	if len(p.lengths) == 0 && len(older.lengths) <= most {
		return older
	}
	lengths := slices.Concat(p.lengths, older.lengths)
	lengths = lengths[:min(len(lengths), most)]
	size := len(f.head) + len(f.between)*max(len(lengths)-1, 0)
	for _, length := range lengths {
		size += int(length)
	}
	raw := append(make([]byte, 0, size+len(f.end)), p.raw[:len(p.raw)-len(f.end)]...)
	if len(p.lengths) > 0 && len(older.lengths) > 0 {
		raw = append(raw, f.between...)
	}
	if len(raw) < size {
		raw = append(raw, older.raw[len(f.head):len(f.head)+size-len(raw)]...)
	}
	return page{append(raw[:size], f.end...), lengths}
}
