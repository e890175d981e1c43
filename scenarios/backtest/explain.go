package backtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/holiman/uint256"
)

// Reason is a word for how the replayed auction and the archive differ.
type Reason string

// The reasons.
const (
	Same          Reason = "same"
	NoneDelivered Reason = "none-delivered"
	Elsewhere     Reason = "elsewhere"
	NoBids        Reason = "no-bids"
	NotListed     Reason = "not-listed"
	OtherValue    Reason = "other-value"
	LeftOut       Reason = "left-out"
	Late          Reason = "late"
	Empty         Reason = "empty"
	AtFloor       Reason = "at-floor"
	Stale         Reason = "stale"
	Outbid        Reason = "outbid"
	OwnHigher     Reason = "own-higher"
	Tied          Reason = "tied"
	LedBefore     Reason = "led-before"
	LedAfter      Reason = "led-after"
	LedBetween    Reason = "led-between"
)

// Reasons say what each reason means.
var Reasons = []struct {
	Reason Reason
	Doc    string
}{
	{Same, "the block that leads when the proposer asks is the one that was delivered"},
	{NoneDelivered, "the archive has no delivered payload of the slot: there is nothing to compare with"},
	{Elsewhere, "the archive says that another relay delivered the slot's payload, and not this one"},
	{NoBids, "a payload was delivered, and the archive has no bids of this relay for the slot"},
	{NotListed, "the delivered block is not among the bids that the archive has of this relay"},
	{OtherValue, "the delivered block is among the bids, but never with the delivered value"},
	{LeftOut, "a rule of inference leaves the delivered bid out"},
	{Late, "the delivered bid comes after the auction has closed"},
	{Empty, "the delivered bid has no transactions or no value, which has no effect (decision 3)"},
	{AtFloor, "the delivered bid is at or below the floor when it comes, so it cannot lead (decision 5)"},
	{Stale, "the delivered bid comes after a newer one of its builder, or one of a higher number (decision 2)"},
	{Outbid, "the delivered bid never leads: a higher one of another builder stands when it comes"},
	{OwnHigher, "the delivered bid never leads: a higher one of its own builder stands when it comes"},
	{Tied, "the delivered bid never leads: one of the same value came before it (decision 3)"},
	{LedBefore, "the delivered bid leads, but not any more when the proposer asks"},
	{LedAfter, "the delivered bid leads, but only after the proposer has asked"},
	{LedBetween, "the delivered bid leads before the proposer asks and again afterwards"},
}

// ReasonsMarkdown is the table of reasons of docs/replay.md.
func ReasonsMarkdown() string {
	var out strings.Builder
	out.WriteString("| `reason` | |\n|---|---|\n")
	for _, r := range Reasons {
		fmt.Fprintf(&out, "| `%s` | %s |\n", r.Reason, r.Doc)
	}
	return out.String()
}

// explain compares what a proposer saw with what was delivered.
func (l *lot) explain(offers []offer, p *played, at seen) (Reason, string) {
	switch {
	case l.delivered == nil && l.elsewhere:
		return Elsewhere, ""
	case l.delivered == nil:
		return NoneDelivered, ""
	case l.rows == 0:
		return NoBids, ""
	}
	block := l.delivered.BlockHash.V
	value := &uint256.Int{l.delivered.ValueWei.Lo, l.delivered.ValueWei.Hi}
	if at.top != nil && at.top.BlockHash == block && at.top.ValueWei.Eq(value) {
		return Same, fmt.Sprintf("leads since %s", moment(at.sinceUs))
	}
	if spans := p.spans(block, value); len(spans) > 0 {
		return led(spans, at.atUs)
	}
	for i := range offers {
		if offers[i].bid.BlockHash == block && offers[i].bid.ValueWei.Eq(value) {
			return l.neverLed(offers, p, i)
		}
	}
	for _, o := range l.left {
		if o.hash == block && o.value.Eq(value) {
			return LeftOut, o.why
		}
	}
	for i := range offers {
		if offers[i].bid.BlockHash == block {
			return OtherValue, fmt.Sprintf("delivered %s wei, bid %s wei", value.Dec(), offers[i].bid.ValueWei.Dec())
		}
	}
	return NotListed, ""
}

// led says when a bid led that does not lead when the proposer asks.
func led(spans []span, askedUs int64) (Reason, string) {
	reason := LedBefore
	switch {
	case spans[0].fromUs > askedUs:
		reason = LedAfter
	case spans[len(spans)-1].fromUs > askedUs:
		reason = LedBetween
	}
	var times []string
	for _, s := range spans {
		text := "from " + moment(s.fromUs)
		if !s.open {
			text += " to " + moment(s.untilUs)
		}
		times = append(times, text)
	}
	return reason, fmt.Sprintf("led %s; asked at %s", strings.Join(times, ", "), moment(askedUs))
}

// neverLed says why an offer did not lead.
func (l *lot) neverLed(offers []offer, p *played, i int) (Reason, string) {
	o := &offers[i]
	came := "came at " + moment(o.enterUs)
	switch p.fates[i] {
	case fateLate:
		return Late, came
	case fateEmpty:
		return Empty, came
	case fateAtFloor:
		return AtFloor, came
	case fateStale:
		return Stale, came
	}
	leader := p.leads[0] // there is one, since the offer has entered
	for _, l := range p.leads {
		if l.atUs <= o.enterUs && l.bid != nil {
			leader = l
		}
	}
	stood := fmt.Sprintf("%s; %s wei led since %s", came, leader.bid.ValueWei.Dec(), moment(leader.atUs))
	switch {
	case leader.bid.ValueWei.Eq(o.bid.ValueWei):
		return Tied, stood
	case leader.bid.Builder == o.bid.Builder:
		return OwnHigher, stood
	}
	return Outbid, stood
}

// moment writes a time relative to the start of the slot.
func moment(us int64) string {
	text := (time.Duration(us) * time.Microsecond).String()
	if us > 0 {
		return "+" + text
	}
	return text
}
