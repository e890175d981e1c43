package replay

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// FeedReport is what came of a feed.
type FeedReport struct {
	Network  dataset.Network `json:"network"`
	Rules    []string        `json:"rules"`
	Speed    float64         `json:"speed"`
	Auctions []*Fed          `json:"auctions"`
}

// Fed is what came of one auction. Amounts are in wei, times in milliseconds.
type Fed struct {
	Slot      int64  `json:"slot"`
	Relay     string `json:"archived_relay"`
	WorldSlot uint64 `json:"world_slot"`
	// Variant is the what-if under which the auction was held; empty as it was archived.
	Variant string `json:"variant,omitempty"`
	// AskedMs is when the proposer asks in the archive's slot, AskedBy how that was found, and
	// AskedLateMs by how much later it has asked.
	AskedMs     float64 `json:"asked_ms"`
	AskedBy     string  `json:"asked_by"`
	AskedLateMs float64 `json:"asked_late_ms"`
	// TooLate says that this machine has not built the blocks in time, so that nothing was compared.
	TooLate bool `json:"too_late"`
	// Bids were sent by Builders keys; LeftOut and Empty were not.
	Bids     int `json:"bids"`
	Builders int `json:"builders"`
	LeftOut  int `json:"left_out"`
	Empty    int `json:"empty"`
	Late     int `json:"after_the_close,omitempty"`
	// Answers counts the answers by status; 0 is for no answer. AfterAsking are the refusals of bids
	// that came when the proposer had asked already, which are no difference.
	Answers     map[int]int `json:"answers"`
	AfterAsking int         `json:"refused_after_asking"`
	// LateMs says by how much bids were sent after their times, AnswerMs how long answers took.
	LateMs   Spread `json:"late_ms"`
	AnswerMs Spread `json:"answer_ms"`
	// Busiest is how many bids were sent in the second with the most.
	Busiest int `json:"busiest_second"`
	// ExpectedWei leads in the replay, ServedWei was served, and PaidWei is on the chain.
	ExpectedWei     string `json:"expected_wei"`
	ExpectedBuilder string `json:"expected_builder"`
	ServedWei       string `json:"served_wei"`
	Delivered       bool   `json:"delivered"`
	PaidWei         string `json:"paid_wei"`
	// ReplayWei and ReplayBuilder have won in the replay, where each bid enters at its time of the
	// archive. SameWinner says that the relay has served that bid, too.
	ReplayWei     string `json:"replay_wei"`
	ReplayBuilder string `json:"replay_builder"`
	SameWinner    bool   `json:"same_winner"`
	// Listed is how many rows the relay's list of received bids has.
	Listed      int          `json:"listed"`
	Differences []Difference `json:"differences"`
}

// Spread describes how many durations are spread, in milliseconds.
type Spread struct {
	Median  float64 `json:"p50"`
	Percent float64 `json:"p99"`
	Most    float64 `json:"max"`
}

func spreadOf(all []time.Duration) Spread {
	if len(all) == 0 {
		return Spread{}
	}
	slices.Sort(all)
	return Spread{milliseconds(all[len(all)/2]), milliseconds(all[len(all)*99/100]), milliseconds(all[len(all)-1])}
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond).Microseconds()) / 1000
}

func newFed(f *feeding) *Fed {
	fed := &Fed{
		Slot: f.live.Slot, Relay: string(f.live.Relay), WorldSlot: uint64(f.slot.Slot),
		AskedMs: milliseconds(f.live.Asked), AskedBy: f.live.AskedBy, AskedLateMs: milliseconds(f.shown.late),
		Bids: len(f.all), LeftOut: f.live.LeftOut, Empty: f.live.Empty, Late: f.live.Late, Answers: map[int]int{},
		Differences: []Difference{}, Variant: f.live.Variant,
	}
	if won := f.live.Winner; won != nil {
		fed.ReplayWei, fed.ReplayBuilder = won.ValueWei.Dec(), won.Builder.String()
	}
	var late, took []time.Duration
	builders, seconds := map[string]bool{}, map[int64]int{}
	for i := range f.all {
		s := &f.all[i]
		builders[s.bid.Builder.String()] = true
		seconds[s.sentAt.Unix()]++
		fed.Busiest = max(fed.Busiest, seconds[s.sentAt.Unix()])
		fed.Answers[s.status]++
		if s.asked && !s.accepted() {
			fed.AfterAsking++
		}
		late, took = append(late, max(0, s.late)), append(took, s.doneAt.Sub(s.sentAt))
	}
	fed.Builders, fed.LateMs, fed.AnswerMs = len(builders), spreadOf(late), spreadOf(took)
	return fed
}

// mostDifferences is how many differences of an auction are kept.
const mostDifferences = 1000

func (f *Fed) differ(what, format string, args ...any) {
	if len(f.Differences) < mostDifferences {
		f.Differences = append(f.Differences, Difference{what, fmt.Sprintf(format, args...)})
	}
}

// OK says whether the relay did in all auctions what the replay says.
func (r *FeedReport) OK() bool {
	return !slices.ContainsFunc(r.Auctions, func(f *Fed) bool { return len(f.Differences) > 0 })
}

// Judged says whether all auctions were held in time.
func (r *FeedReport) Judged() bool {
	return !slices.ContainsFunc(r.Auctions, func(f *Fed) bool { return f.TooLate })
}

// shownDifferences is how many differences of an auction a person is shown.
const shownDifferences = 5

// WriteText writes an auction for a person.
func (f *Fed) WriteText(out io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "slot %d at %s, in slot %d of the world: %d bids of %d builders, %d in the busiest second\n",
		f.Slot, f.Relay, f.WorldSlot, f.Bids, f.Builders, f.Busiest)
	var answers []string
	for _, status := range slices.Sorted(maps.Keys(f.Answers)) {
		answers = append(answers, fmt.Sprintf("%d × %d", f.Answers[status], status))
	}
	fmt.Fprintf(&text, "  answers %s; %d refused after the proposer had asked\n", strings.Join(answers, ", "),
		f.AfterAsking)
	fmt.Fprintf(&text, "  answered after %v ms (p50), %v ms (p99), %v ms (max); sent late by %v ms (p50), %v ms (max); "+
		"asked late by %v ms\n", f.AnswerMs.Median, f.AnswerMs.Percent, f.AnswerMs.Most, f.LateMs.Median, f.LateMs.Most,
		f.AskedLateMs)
	fmt.Fprintf(&text, "  the replay has %s wei, the header %s, the chain %s\n", orNone(f.ExpectedWei),
		orNone(f.ServedWei), orNone(f.PaidWei))
	if f.Variant != "" {
		same := "another bid than in the replay: bids met the relay in another order"
		if f.SameWinner {
			same = "the same as in the replay"
		}
		fmt.Fprintf(&text, "  what if %s: the winner is %s\n", f.Variant, same)
	}
	if f.TooLate {
		text.WriteString("  NOT JUDGED: this machine has not built the blocks in time: use a world of longer slots, or a " +
			"lower --speed\n")
	}
	for i, d := range f.Differences {
		if i == shownDifferences {
			fmt.Fprintf(&text, "  … and %d more differences\n", len(f.Differences)-i)
			break
		}
		fmt.Fprintf(&text, "  DIFFERS %s: %s\n", d.What, d.Detail)
	}
	_, err := io.WriteString(out, text.String())
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func orNone(amount string) string {
	if amount == "" {
		return "none"
	}
	return amount
}

// DifferencesMarkdown is the table of differences of docs/replay.md.
func DifferencesMarkdown() string {
	var out strings.Builder
	out.WriteString("| difference | |\n|---|---|\n")
	for _, d := range Differences {
		fmt.Fprintf(&out, "| `%s` | %s |\n", d.What, d.Doc)
	}
	return out.String()
}
