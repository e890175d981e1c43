package dataset

import (
	"errors"
	"fmt"

	"github.com/gavel-relay/gavel/relay"
)

// Stage is how long one stage of a relay's work on one request took.
type Stage struct {
	Slot               Int
	SlotStart, BeganAt Time
	Source, Relay      Text
	Request, Stage     Text
	BlockHash          Hash
	Builder            Key
	TookUs             Int
}

// Whose stages they are.
const (
	SubmissionStages Text = "submission"
	PayloadStages    Text = "payload"
)

// StageNames are the stages of gavel's own relay, in the order in which they run.
var StageNames = relay.StageNames()

// Stages is the table of relay-internal times.
var Stages = &Table[Stage]{
	Name: "stages",
	Doc: "How long the stages of a relay's work took, of submissions and of requests for payloads. A replay does not " +
		"read them.",
	Relay: func(s *Stage) *Text { return &s.Relay },
	check: (*Stage).check,
	At:    func(_ Network, s *Stage) int64 { return s.SlotStart.Micros },
	Columns: []Column[Stage]{
		{"slot", "slot", "", func(s *Stage) any { return &s.Slot }},
		{"slot_start", "UTC", "when that slot begins", func(s *Stage) any { return &s.SlotStart }},
		{"began_at", "UTC, relay's clock", "when the relay had the request: its body, if it is a submission",
			func(s *Stage) any { return &s.BeganAt }},
		{"source", "", "the format that the row is from", func(s *Stage) any { return &s.Source }},
		{"relay", "", "the relay's name or host", func(s *Stage) any { return &s.Relay }},
		{"request", "", "`submission` or `payload`", func(s *Stage) any { return &s.Request }},
		{"block_hash", "0x, 32 bytes", "", func(s *Stage) any { return &s.BlockHash }},
		{"builder_pubkey", "0x, 48 bytes", "", func(s *Stage) any { return &s.Builder }},
		{"stage", "", "the stage's name, as in `gavel_stage_seconds`", func(s *Stage) any { return &s.Stage }},
		{"took_us", "µs", "how long it took, by the clock of the machine", func(s *Stage) any { return &s.TookUs }},
	},
}

var errNoStage = errors.New("no stage, or no time that it took")

// check completes a row and says why it cannot be one.
func (s *Stage) check(n Network) error {
	if err := checkSlot(s.Slot); err != nil {
		return err
	}
	if s.Request != SubmissionStages && s.Request != PayloadStages {
		return fmt.Errorf("request %q is neither submission nor payload", cut(string(s.Request)))
	}
	if s.Stage == "" || !s.TookUs.Known || s.TookUs.V < 0 {
		return errNoStage
	}
	s.SlotStart = Time{n.startMicros(s.Slot.V), true}
	return n.checkTime("began_at", s.Slot.V, s.BeganAt)
}
