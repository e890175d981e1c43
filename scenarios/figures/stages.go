package figures

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strconv"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// mostStages bounds the stages that are told apart; a relay has fewer than ten.
const mostStages = 64

// stageName is a stage of a kind of requests.
type stageName struct{ request, stage dataset.Text }

// stageTimes counts how often a stage took how long.
type stageTimes struct {
	n, longestUs int64
	// by has counts by duration, of which the first ten binary digits are kept.
	by map[int64]int64
}

// stages has the times of relays' stages.
type stages struct{ by map[stageName]*stageTimes }

// rounded keeps the first ten binary digits.
func rounded(us int64) int64 {
	drop := max(bits.Len64(uint64(us))-10, 0)
	return us >> drop << drop
}

func (s *stages) of(name stageName) *stageTimes {
	if s.by == nil {
		s.by = map[stageName]*stageTimes{}
	}
	if s.by[name] == nil && len(s.by) >= mostStages {
		name.stage = "others"
	}
	if s.by[name] == nil {
		s.by[name] = &stageTimes{by: map[int64]int64{}}
	}
	return s.by[name]
}

// AddStage adds a row of the table of stages.
func (p *Part) AddStage(row *dataset.Stage) {
	one := p.stages.of(stageName{row.Request, row.Stage})
	one.n++
	one.longestUs = max(one.longestUs, row.TookUs.V)
	one.by[rounded(row.TookUs.V)]++
}

// at is the duration that so many percent are no longer than. Of several the lower one counts.
func (s *stageTimes) at(percent int64) int64 {
	seen, want := int64(0), (s.n-1)*percent/100
	for _, us := range slices.Sorted(maps.Keys(s.by)) {
		if seen += s.by[us]; seen > want {
			return us
		}
	}
	return 0
}

// ordered are the stages in the order in which they run, submissions first.
func (s *stages) ordered() []stageName {
	place := func(n stageName) int {
		if at := slices.Index(dataset.StageNames, string(n.stage)); at >= 0 {
			return at
		}
		return len(dataset.StageNames)
	}
	return slices.SortedFunc(maps.Keys(s.by), func(a, b stageName) int {
		return cmp.Or(-cmp.Compare(a.request, b.request), cmp.Compare(place(a), place(b)), cmp.Compare(a.stage, b.stage))
	})
}

func (s *stages) figure() Figure {
	f := Figure{
		ID: "stages", Title: "Stages within relays",
		Doc: "How long the stages of relays' work on submissions and on requests for payloads took: the middle one, and " +
			"those that 90 % and 99 % are no longer than. What took longer than 1,023 µs is rounded down by less than 0.2 %.",
		X: "request and stage", Y: "ms", Named: true,
		Header: []string{"request", "stage", "count", "median_us", "p90_us", "p99_us", "longest_us"},
	}
	if len(s.by) == 0 {
		f.Missing = "The data set has no stages of relays: archives do not have them, runs of gavel's own do."
		return f
	}
	f.Series = []Series{{Name: "median", Form: Marker}, {Name: "90 %", Form: Marker}, {Name: "99 %", Form: Marker}}
	for i, name := range s.ordered() {
		one := s.by[name]
		row := []string{string(name.request), string(name.stage), decimal(one.n)}
		for n, percent := range []int64{50, 90, 99} {
			us := one.at(percent)
			f.Series[n].Points = append(f.Series[n].Points, Point{
				X: float64(i), Y: float64(us) / 1000, Label: string(name.request) + ": " + string(name.stage),
			})
			row = append(row, strconv.FormatInt(us, 10))
		}
		f.Rows = append(f.Rows, append(row, decimal(one.longestUs)))
	}
	return f
}

func (s *stages) merge(other *stages) {
	for _, name := range other.ordered() { // in an order, so that the same ones become others
		from, one := other.by[name], s.of(name)
		one.n += from.n
		one.longestUs = max(one.longestUs, from.longestUs)
		for us, n := range from.by {
			one.by[us] += n
		}
	}
}
