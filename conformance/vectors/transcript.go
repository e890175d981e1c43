package vectors

import (
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// Transcripts is a file of event streams: bytes, and the events in them (HTML Living Standard,
// 9.2.6).
type Transcripts struct {
	Schema string           `json:"$schema"`
	Suite  string           `json:"suite"`
	Cases  []TranscriptCase `json:"cases"`
}

// TranscriptCase is what comes over one connection.
type TranscriptCase struct {
	Name string `json:"name"`
	Says string `json:"says"`
	// Bytes are all that comes, in hexadecimal digits. Then the connection ends.
	Bytes  string          `json:"bytes"`
	Events []StreamedEvent `json:"events"`
}

// StreamedEvent is one event.
type StreamedEvent struct {
	// Type is the event's name; empty if it has none.
	Type string `json:"type"`
	// ID is the last id that came with this event or before it.
	ID   string `json:"id"`
	Data string `json:"data"`
}

func data(texts ...string) []StreamedEvent {
	list := []StreamedEvent{}
	for _, text := range texts {
		list = append(list, StreamedEvent{Data: text})
	}
	return list
}

func writeTranscripts(out *folder, _ uint64) error {
	const hint = `{"hash":"0x29ddf0a3c5f7d1f4b7c9b6d3a9c1e2f30415263748596a7b8c9dadbecfd0e1f2","logs":null,"txs":null}`
	file := Transcripts{Schema: schemaOf(3, "transcripts"), Suite: "stream/transcripts"}
	for _, row := range []struct {
		name, says, bytes string
		events            []StreamedEvent
	}{
		{"nothing", "The connection ends at once.", "", data()},
		{"one", "One event, as a stream of hints sends it.", "data: " + hint + "\n\n", data(hint)},
		{"pings", "Comments keep the connection alive and are no events.",
			":ping\n\ndata: " + hint + "\n\n:ping\n\n: another\n\n", data(hint)},
		{"ping-within", "A comment stands within an event.", "data: a\n:ping\ndata: b\n\n", data("a\nb")},
		{"two", "Two events.", "data: a\n\ndata: b\n\n", data("a", "b")},
		{"crlf", "Lines end with CR LF.", "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", data("a\nb", "c")},
		{"cr", "Lines end with CR.", "data: a\r\rdata: b\r\r", data("a", "b")},
		{"mixed-ends", "Lines end in three ways.", "data: a\rdata: b\ndata: c\r\n\r\n", data("a\nb\nc")},
		{"bom", "A byte order mark comes first.", "\ufeffdata: a\n\n", data("a")},
		{"no-blank", "No blank follows the colon.", "data:a\n\n", data("a")},
		{"two-blanks", "Only one blank after the colon is no data.", "data:  a\n\n", data(" a")},
		{"colons", "Only the first colon ends the field's name.", "data: a: b:c\n\n", data("a: b:c")},
		{"no-colon", "A line without a colon is a field without a value.", "data\n\n", data("")},
		{"two-empty", "Two empty data lines are a line end.", "data\ndata\n\n", data("\n")},
		{"beyond-ascii", "The data are UTF-8.", "data: größer ✓ 🜚\n\n", data("größer ✓ 🜚")},
		{"unknown-field", "Unknown fields are ignored.", "more: 1\ndata: a\nDATA: b\n data: c\n\n", data("a")},
		{"named", "Events with names, as beacon nodes send them.", "event: head\ndata: {}\n\ndata: a\n\n",
			[]StreamedEvent{{Type: "head", Data: "{}"}, {Data: "a"}}},
		{"name-without-data", "A name without data is no event, and names no later one.", "event: head\n\ndata: a\n\n",
			data("a")},
		{"ids", "An id counts until another one comes.", "id: 7\ndata: a\n\ndata: b\n\nid: 8\ndata: c\n\n",
			[]StreamedEvent{{ID: "7", Data: "a"}, {ID: "7", Data: "b"}, {ID: "8", Data: "c"}}},
		{"id-emptied", "An empty id takes the id away.", "id: 7\ndata: a\n\nid\ndata: b\n\n",
			[]StreamedEvent{{ID: "7", Data: "a"}, {Data: "b"}}},
		{"id-nul", "An id with a NUL is ignored.", "id: 7\ndata: a\n\nid: 8\x00\ndata: b\n\n",
			[]StreamedEvent{{ID: "7", Data: "a"}, {ID: "7", Data: "b"}}},
		{"retry", "retry is no data.", "retry: 1000\ndata: a\n\n", data("a")},
		{"cut-event", "The blank line after the last event is missing: it is no event.", "data: a\n\ndata: b\n", data("a")},
		{"cut-line", "The last line has no end.", "data: a\n\ndata: b", data("a")},
		{"empty-lines", "More empty lines are no events.", "\n\n\ndata: a\n\n\n\n", data("a")},
	} {
		file.Cases = append(file.Cases, TranscriptCase{row.name, row.says, hexutil.Encode([]byte(row.bytes)), row.events})
	}
	return out.document(file.Suite+"/cases.json", "transcripts", file.Suite, len(file.Cases), file)
}
