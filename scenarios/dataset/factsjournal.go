package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/scenarios"
)

// journalFacts are the facts of a service's journal, as `gavel journal facts` and the operator's
// API of a relay write them: what a run has of its relays and of its bundle RPC.
var journalFacts = Format{
	Name: "journal", Place: Line,
	Doc: "facts of a relay's or a bundle RPC's journal, from `gavel journal facts` or `GET /admin/v1/facts`: what the " +
		"relay judged and refused, and how long it took; leading bids, served headers, delivered payloads; and orders",
	begins: func(head []byte) bool { return bytes.HasPrefix(head, []byte(`{"journal":`)) },
	Read:   readJournal,
}

// journalMessage is a line: a message with one fact or a list of them.
type journalMessage struct {
	Subject string          `json:"subject"`
	Fact    json.RawMessage `json:"fact"`
}

// subjectsOfRuns are those that have another name in a run.
var subjectsOfRuns = map[string]string{"order_shared": scenarios.HintSeen}

func readJournal(in io.Reader, from Origin, to Sink) error {
	r, last := factReader{from: from}, int64(0)
	to = &journalRows{to}
	err := eachLine(in, func(at int64, line string) error {
		last = at
		var m journalMessage
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			return to.Bad(at, line, fmt.Errorf("not a message of a journal: %w", err))
		}
		service, subject, _ := strings.Cut(m.Subject, ".")
		if name := subjectsOfRuns[subject]; name != "" {
			subject = name
		}
		if service != "relay" && service != "rpc" || readersOf[subject] == nil {
			return nil
		}
		return rpc.EachFact(m.Fact, func(fact []byte) error { return r.journal(at, service, subject, fact, to) })
	})
	if err != nil {
		return err
	}
	return r.orders.put(last, from.Network, to)
}

// journal hands over the rows of a fact of a journal. The relay's name is not in it; a bundle RPC
// is called so.
func (r *factReader) journal(at int64, service, subject string, fact []byte, to Sink) error {
	record := scenarios.Record{Subject: subject, Fact: fact}
	if service == "rpc" {
		record.Actor = service
		record.Slot = r.slotOf(fact)
	}
	rows, err := r.rowsOf(&record)
	if err != nil {
		return to.Bad(at, string(fact), err)
	}
	for _, row := range rows {
		if err := to.Row(at, row); err != nil {
			return err
		}
	}
	return nil
}

// slotOf is the slot in which a fact happened, negative if it does not say when.
func (r *factReader) slotOf(fact []byte) int {
	var f struct {
		At time.Time `json:"at"`
	}
	if json.Unmarshal(fact, &f) != nil || f.At.Unix() < r.from.Network.GenesisTime {
		return -1
	}
	return int((f.At.Unix() - r.from.Network.GenesisTime) / r.from.Network.SlotSeconds)
}

// journalRows are rows of a journal, which are made as those of a run are.
type journalRows struct{ Sink }

// Row implements Sink.
func (j *journalRows) Row(at int64, row any) error {
	switch row := row.(type) {
	case *Bid:
		row.Source = "journal"
	case *Delivery:
		row.Source = "journal"
	case *Request:
		row.Source = "journal"
	case *Stage:
		row.Source = "journal"
	case *Order:
		row.Source = "journal"
	}
	return j.Sink.Row(at, row)
}
