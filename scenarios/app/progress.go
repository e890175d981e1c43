package app

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/display"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/scenarios"
)

// progress shows how a scenario goes: one line for each slot and each fault, or a live table of the
// slots. Its methods are called by one goroutine at a time.
type progress struct {
	out   io.Writer
	watch bool
	live  display.Output
	slots map[int]*display.Slot
	last  int // the plan's last slot; later slots are not shown
	start time.Time
}

func newProgress(out io.Writer, watch bool) *progress { return &progress{out: out, watch: watch} }

func (s *progress) print(format string, args ...any) {
	_, _ = fmt.Fprintf(s.out, format+"\n", args...) // if the terminal is gone, a signal ends the program
}

// showBegin begins the display of a run.
func (s *progress) showBegin(p *scenarios.Plan, variant string, without bool) {
	s.showEnd()
	s.print("▶ %s", titleOf(p, variant, without))
	s.slots, s.last, s.start = map[int]*display.Slot{}, p.Slots, time.Now()
	if s.watch {
		s.live = display.New(s.out, display.OptionsFor(os.Stdout, false, os.Getenv))
		s.live.Start(display.Run{
			Slots: p.Slots, SlotDuration: p.Slot, Speed: p.Speed, Validators: p.Validators, Builders: len(p.Builders),
		})
	}
}

// titleOf names a run.
func titleOf(p *scenarios.Plan, variant string, without bool) string {
	title := p.Name
	if variant != "" {
		title += " " + variant
	}
	if without {
		title += ", without what it is about"
	}
	return title
}

// showEnd ends the live display of a run.
func (s *progress) showEnd() {
	if s.live != nil {
		sum := display.Summary{Wall: time.Since(s.start)}
		for _, slot := range s.slots {
			if slot.Open {
				continue
			}
			one, paidWei := *slot, (*uint256.Int)(nil)
			if one.Delivered = one.Landed; one.Landed { // a payload that is not on the chain paid nothing
				paidWei = one.TopWei
			}
			sum.Add(one, paidWei)
		}
		s.live.Done(sum)
		s.live = nil
	}
}

// fact updates the display with a fact.
func (s *progress) fact(r scenarios.Record) {
	switch r.Subject {
	case scenarios.FaultBegan, scenarios.FaultEnded, scenarios.ServiceStopped, scenarios.ServiceStarted,
		scenarios.BreakerOpened,
		scenarios.MonitorFinding, scenarios.BuilderDemoted:
		text := strings.Join(strings.Fields(strings.ReplaceAll(r.Subject, "_", " ")+" "+r.About+" "+r.At+" "+r.ID), " ")
		var begun BegunFault
		if r.Subject == scenarios.FaultBegan && json.Unmarshal(r.Fact, &begun) == nil && begun.How != "" {
			text += ": " + begun.How
		}
		s.note(moment(r) + ": " + text)
	}
	if r.Slot < 1 || r.Slot > s.last {
		return
	}
	slot := s.slot(r)
	switch r.Subject {
	case scenarios.SubmissionJudged:
		switch {
		case r.ID != "":
			slot.Note = "refused: " + r.ID
		case r.Counts:
			slot.Bids++
			slot.Values = append(slot.Values, wei(r.ValueWei))
		}
	case scenarios.TopChanged:
		// This is taken from changes of the leading bid, not from served headers: the sum of
		// repeated headers may come only when the slot is over.
		slot.TopWei, slot.Winner = wei(r.ValueWei), r.About
	case scenarios.PayloadDelivered:
		slot.Delivered, slot.TopWei, slot.Winner = true, wei(r.ValueWei), r.About
	case scenarios.PayloadRefused:
		slot.Note = "payload refused: " + r.ID
	case scenarios.SlotFinished:
		s.finish(slot, r)
	default:
		return
	}
	if s.live != nil {
		s.live.Slot(*slot)
	}
}

func (s *progress) slot(r scenarios.Record) *display.Slot {
	if s.slots[r.Slot] == nil {
		s.slots[r.Slot] = &display.Slot{Number: uint64(max(r.Slot, 0)), Open: true}
	}
	slot := s.slots[r.Slot]
	if fork, err := eth.ParseFork(r.Fork); err == nil {
		slot.Fork = fork
	}
	return slot
}

func (s *progress) finish(slot *display.Slot, r scenarios.Record) {
	slot.Open, slot.Landed = false, r.ID == scenarios.Landed
	var found ChainSlot
	if json.Unmarshal(r.Fact, &found) == nil {
		slot.Proposer, slot.Txs, slot.Blobs = uint64(found.Proposer), found.Txs, found.Blobs
	}
	switch r.ID {
	case scenarios.Landed:
		slot.Winner, slot.TopWei = r.About, wei(r.ValueWei)
	case scenarios.Local:
		slot.Winner, slot.TopWei = display.Local, nil
	case scenarios.Missed, scenarios.Orphaned:
		slot.Winner, slot.TopWei = "", nil
		slot.Note = strings.TrimPrefix(slot.Note+", "+r.ID, ", ")
	case scenarios.Empty:
		slot.Winner, slot.TopWei = r.About, nil
		slot.Note = strings.Trim(slot.Note+", payload "+r.Because, ", ")
	}
	if s.live == nil {
		value := ""
		if slot.TopWei != nil {
			value = display.Ether(slot.TopWei)
		}
		s.print("  slot %d  %-8s %s  %s  %d bids  %s", r.Slot, r.ID, slot.Winner, value, slot.Bids, slot.Note)
	}
}

func (s *progress) note(text string) {
	if s.live != nil {
		s.live.Note(text)
		return
	}
	s.print("  %s", text)
}

func moment(r scenarios.Record) string { return fmt.Sprintf("slot %d %+dms", r.Slot, r.SlotMs) }

func wei(text string) *uint256.Int {
	value, err := uint256.FromDecimal(text)
	if err != nil {
		return nil
	}
	return value
}

// verdicts shows how the scenario ended.
func (s *progress) verdicts(result Result) {
	if result.Skipped != "" {
		s.print("%s SKIPPED: %s\n", result.Name, result.Skipped)
		return
	}
	for _, one := range result.Variants {
		if one.Variant != "" {
			s.print("  %s", one.Variant)
		}
		s.list(one.Verdicts)
	}
	for _, one := range result.Proof {
		s.print("  without what it is about: %s", one.Variant)
		s.list(one.Verdicts)
	}
	s.print("%s %s, %.1fs; %s\n", result.Name, result.verdict(), result.Wall.Seconds(), result.Variants[0].Dir)
}

// verdict says in words how a scenario ended that was not skipped.
func (r Result) verdict() string {
	switch {
	case r.Proof != nil && !r.Breaks():
		return "PROVES NOTHING: it ends the same without what it is about"
	case !r.OK():
		return "DID NOT END AS IT MUST"
	}
	return "ended as it must"
}

func (s *progress) list(verdicts []scenarios.Verdict) {
	for _, v := range verdicts {
		mark := "✗"
		switch {
		case v.Met:
			mark = "✓"
		case v.Skipped:
			mark = "–"
		}
		s.print("    %s %s — %s", mark, v.Text, v.Reason)
	}
}
