package data

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"net/http"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
)

// The media types of an answer, the preferred first. Refusals are always JSON.
const (
	mediaJSON   = "application/json"
	mediaCSV    = "text/csv"             // RFC 4180 with the line of names, lines ended by LF
	mediaNDJSON = "application/x-ndjson" // one item a line, as it stands in the JSON answer
)

// item is one item of an answer: marshalled it is JSON, and it is also the line of a table.
type item interface {
	// columns are the names of its cells, those of the JSON fields.
	columns() []string
	cells() []string
}

// formatted reads what an operation asks for in Accept before it runs, so that no query is made for an answer that nobody takes (H05).
func formatted(operation func(w http.ResponseWriter, r *http.Request, media string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept")
		media, ok := serve.Negotiate(r, mediaJSON, mediaCSV, mediaNDJSON)
		if !ok {
			serve.Refuse(w, r, relay.NotAcceptable.Plain())
			return
		}
		operation(w, r, media)
	}
}

// answerList answers with a list, which is never null.
func answerList[I item](w http.ResponseWriter, r *http.Request, media string, list []I) {
	raw, err := encodeList(media, list)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	serve.Bytes(w, http.StatusOK, media, raw)
}

// answerOne answers with an item that is no list: a bare object in JSON, a table of one line otherwise.
func answerOne[I item](w http.ResponseWriter, r *http.Request, media string, one I) {
	if media == mediaJSON {
		serve.JSON(w, r, http.StatusOK, one)
		return
	}
	answerList(w, r, media, []I{one})
}

// encodeList is a list in the form of a media type.
func encodeList[I item](media string, list []I) ([]byte, error) {
	write := writeNDJSON[I]
	switch media {
	case mediaJSON:
		return json.Marshal(list)
	case mediaCSV:
		write = writeCSV[I]
	}
	var body bytes.Buffer
	err := write(&body, list)
	return body.Bytes(), err
}

func writeNDJSON[I item](body *bytes.Buffer, list []I) error {
	lines := json.NewEncoder(body) // ends each item with LF
	for _, one := range list {
		if err := lines.Encode(one); err != nil {
			return err
		}
	}
	return nil
}

// writeCSV writes the line of names also when there is nothing below it.
func writeCSV[I item](body *bytes.Buffer, list []I) error {
	table := csv.NewWriter(body)
	var none I
	if err := table.Write(none.columns()); err != nil {
		return err
	}
	for _, one := range list {
		if err := table.Write(one.cells()); err != nil {
			return err
		}
	}
	table.Flush()
	return table.Error()
}
