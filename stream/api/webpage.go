package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/stream"
)

// The page is a single answer with its style and script inside. The policy allows these two by
// their hashes, and no other style or script.
var (
	//go:embed webpage/page.html
	pageHTML string
	//go:embed webpage/page.css
	pageCSS string
	//go:embed webpage/page.js
	pageJS string

	pageTemplate = template.Must(template.New("page").Parse(pageHTML))
	pagePolicy   = serve.PagePolicy(pageCSS, pageJS, "'none'")
)

// view has the template's values.
type view struct {
	Network string
	Style   template.CSS
	Script  template.JS
	// LastID is the id of the newest event, after which the page's EventSource begins; 0 if there
	// is none.
	LastID uint64
	Rows   []row // newest first
}

// row is an event as the page shows it. A field that is not shared is empty.
type row struct {
	Hash, To, Selector, Gas string
	Transactions, Logs      int
	Block                   uint64
	At                      time.Time
}

// page answers with the page, which already has the last events. Then its script listens for the
// events that follow.
func (h *liveHandler) page(w http.ResponseWriter, r *http.Request) {
	// Style and script are our own; nothing in them comes from a client.
	shown := view{Network: h.Network, Style: template.CSS(pageCSS), Script: template.JS(pageJS)}
	for _, event := range slices.Backward(h.Broadcast.Recent()) {
		shown.LastID = max(shown.LastID, event.ID)
		if read, ok := rowOf(event); ok {
			shown.Rows = append(shown.Rows, read)
		}
	}
	var body bytes.Buffer
	if err := pageTemplate.Execute(&body, shown); err != nil {
		serve.Refuse(w, r, fmt.Errorf("render the page: %w", err))
		return
	}
	header := w.Header()
	header.Set("Content-Security-Policy", pagePolicy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-cache")
	header.Set("Content-Length", strconv.Itoa(body.Len()))
	serve.Bytes(w, http.StatusOK, "text/html; charset=utf-8", body.Bytes())
}

// rowOf makes an event a row; false if it cannot be read.
func rowOf(event stream.Event) (read row, ok bool) {
	var hint struct {
		Hash    string            `json:"hash"`
		Logs    []json.RawMessage `json:"logs"`
		GasUsed string            `json:"gasUsed"`
		Txs     []struct {
			To               string `json:"to"`
			FunctionSelector string `json:"functionSelector"`
		} `json:"txs"`
	}
	if json.Unmarshal(event.JSON, &hint) != nil {
		return row{}, false
	}
	read = row{Hash: hint.Hash, Transactions: len(hint.Txs), Logs: len(hint.Logs), Block: event.Block, At: event.At.UTC()}
	if gas, err := strconv.ParseUint(strings.TrimPrefix(hint.GasUsed, "0x"), 16, 64); err == nil {
		read.Gas = strconv.FormatUint(gas, 10)
	}
	if len(hint.Txs) > 0 {
		read.To, read.Selector = hint.Txs[0].To, hint.Txs[0].FunctionSelector
	}
	return read, true
}

// Clock is the time of day of a row, in UTC.
func (r row) Clock() string {
	if r.At.IsZero() {
		return ""
	}
	return r.At.Format(time.TimeOnly)
}

// More is the number of transactions after the first, as in "+2"; empty if there are none.
func (r row) More() string {
	if r.Transactions < 2 {
		return ""
	}
	return fmt.Sprintf("+%d", r.Transactions-1)
}
