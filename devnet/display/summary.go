package display

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holiman/uint256"
)

// Add counts a finished slot. paidWei is what its builder paid to the proposer; nil means nothing.
func (s *Summary) Add(slot Slot, paidWei *uint256.Int) {
	s.Slots++
	switch {
	case slot.Delivered:
		s.Delivered++
	case slot.Winner == Local:
		s.Local++
	default:
		s.Missed++
	}
	if slot.Landed {
		s.Landed++
	}
	if s.PaidWei == nil {
		s.PaidWei = new(uint256.Int)
	}
	if paidWei != nil {
		s.PaidWei = new(uint256.Int).Add(s.PaidWei, paidWei)
	}
}

// Verdict returns the last line of a run: that all went well, or what did not.
func (s Summary) Verdict() string {
	if s.Slots == 0 && len(s.Problems) == 0 {
		return "no slot was finished"
	}
	line := fmt.Sprintf("%d of %d payloads delivered and landed", s.Landed, s.Slots)
	var but []string
	for _, loss := range []struct {
		n         int
		one, many string
	}{
		{s.Local, "block built locally", "blocks built locally"},
		{s.Missed, "slot missed", "slots missed"},
		{s.Delivered - s.Landed, "delivered payload not on the chain", "delivered payloads not on the chain"},
		{len(s.Problems), "problem", "problems"},
	} {
		if loss.n > 0 {
			but = append(but, plural(loss.n, loss.one, loss.many))
		}
	}
	if len(but) == 0 {
		return line
	}
	return line + ": " + strings.Join(but, ", ")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// lines returns the summary as a small table, followed by the problems and the verdict.
func (s Summary) lines(p paint) []string {
	lines := []string{""}
	rows := [][2]string{
		{"slots", strconv.Itoa(s.Slots)},
		{"delivered", strconv.Itoa(s.Delivered)},
		{"landed", strconv.Itoa(s.Landed)},
		{"built locally", strconv.Itoa(s.Local)},
		{"missed", strconv.Itoa(s.Missed)},
		{"paid to proposers", Ether(s.PaidWei)},
		{"first delivery", orDash(s.FirstDelivery > 0, short(s.FirstDelivery)+" after start")},
		{"header to delivery", orDash(s.RoundTripMedian > 0, short(s.RoundTripMedian)+" (median)")},
		{"wall time", orDash(s.Wall > 0, short(s.Wall))},
	}
	if !s.Flow.none() {
		rows = append(rows, s.Flow.rows()...)
	}
	for _, row := range rows {
		lines = append(lines, p.faint.Render(padRight(row[0], 20))+row[1])
	}
	lines = append(lines, "")
	if len(s.Replayed) > 0 {
		lines = append(append(lines, s.Replayed...), "")
	}
	for _, problem := range s.Problems {
		lines = append(lines, p.bad.Render("problem: "+oneLine(problem)))
	}
	if s.OK() {
		return append(lines, p.good.Render(s.Verdict()))
	}
	return append(lines, p.bad.Render(s.Verdict()))
}

// rows returns the counts of orders as rows of the summary.
func (f Flow) rows() [][2]string {
	return [][2]string{
		{"private orders", fmt.Sprintf("%d, %d cancelled", f.Orders, f.Cancelled)},
		{"hints", strconv.Itoa(f.Hints)},
		{"backruns", fmt.Sprintf("%d matched, %d landed", f.Backruns, f.Landed)},
		{"refunds", fmt.Sprintf("%s in %s", Ether(f.RefundedWei), plural(f.Refunds, "payout", "payouts"))},
	}
}

func orDash(known bool, text string) string {
	if known {
		return text
	}
	return "–"
}

// oneLine replaces line breaks and repeated spaces by single spaces.
func oneLine(text string) string {
	return strings.Join(strings.Fields(text), " ")
}
