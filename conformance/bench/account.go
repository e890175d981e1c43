package bench

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// Sample is one request and what came of it.
type Sample struct {
	Kind Kind
	// At is when it was due or, without a rate, sent. Took is the time from then until the whole
	// answer was there, so a request that waited for a free connection counts its wait.
	At, Took time.Duration
	// Status is the status of the answer; 0 means that none came.
	Status int
	// Good says that the answer is one that the service may give to a request that is right.
	Good bool
	// Bytes is the size of the request's body.
	Bytes int
}

// Measure is what the requests of one kind in one phase say about a service's speed.
type Measure struct {
	Kind     Kind `json:"kind"`
	Requests int  `json:"requests"`
	// Good are the right answers; only they have a latency. Statuses counts all answers by status;
	// those of requests without an answer are at "none".
	Good      int            `json:"good"`
	Statuses  map[string]int `json:"statuses"`
	Bytes     int64          `json:"bytes"`
	PerSecond float64        `json:"perSecond"` // right answers
	// Latency has the quantiles of QuantileShares, in milliseconds.
	Latency []Quantile `json:"latencyMs"`
	// Course has the phase second by second.
	Course []Second `json:"course"`
}

// Quantile is a latency that a share of the answers did not exceed.
type Quantile struct {
	Share float64 `json:"share"`
	Ms    float64 `json:"ms"`
}

// Second is one second of a phase.
type Second struct {
	Second    int     `json:"second"` // since the beginning of the run
	PerSecond float64 `json:"perSecond"`
	P50Ms     float64 `json:"p50Ms"`
	P99Ms     float64 `json:"p99Ms"`
}

// QuantileShares are the shares of answers whose latency is reported.
var QuantileShares = []float64{0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1}

// At returns the latency of a share in milliseconds; 0 if there is none.
func (m *Measure) At(share float64) float64 {
	for _, q := range m.Latency {
		if q.Share == share {
			return q.Ms
		}
	}
	return 0
}

// Account makes the measures of a phase out of its samples. Loaded is for how long it sent requests
// between its beginning and its end. The kinds are in the order of the first argument; a kind
// without samples is left out.
func Account(kinds []Kind, samples []Sample, began, ended, loaded time.Duration) (all []Measure) {
	for _, kind := range kinds {
		var took []time.Duration
		m := Measure{Kind: kind, Statuses: map[string]int{}}
		bySecond := map[int][]time.Duration{}
		for _, s := range samples {
			if s.Kind != kind {
				continue
			}
			m.Requests++
			m.Bytes += int64(s.Bytes)
			m.Statuses[statusText(s.Status)]++
			if s.Good {
				took = append(took, s.Took)
				second := int((s.At + s.Took) / time.Second)
				bySecond[second] = append(bySecond[second], s.Took)
			}
		}
		if m.Requests == 0 {
			continue
		}
		m.Good = len(took)
		if loaded > 0 {
			m.PerSecond = float64(m.Good) / loaded.Seconds()
		}
		slices.Sort(took)
		for _, share := range QuantileShares {
			m.Latency = append(m.Latency, Quantile{share, milliseconds(quantile(took, share))})
		}
		m.Course = courseOf(bySecond, began, ended)
		all = append(all, m)
	}
	return all
}

// courseOf returns the seconds in which right answers came. The first and the last one are left
// out if the phase does not fill them.
func courseOf(bySecond map[int][]time.Duration, began, ended time.Duration) (course []Second) {
	first := int((began + time.Second - 1) / time.Second)
	end := int(ended / time.Second)
	for second, took := range bySecond {
		if second < first || second >= max(end, first+1) {
			continue
		}
		slices.Sort(took)
		course = append(course, Second{second, float64(len(took)), milliseconds(quantile(took, 0.5)),
			milliseconds(quantile(took, 0.99))})
	}
	slices.SortFunc(course, func(a, b Second) int { return cmp.Compare(a.Second, b.Second) })
	return course
}

func statusText(status int) string {
	if status == 0 {
		return "none"
	}
	return strconv.Itoa(status)
}

// quantile returns the least latency that a share of all does not exceed (nearest rank). The list
// is in order. It is 0 if there are none.
func quantile(sorted []time.Duration, share float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := share * float64(len(sorted))
	n := int(rank)
	if float64(n) < rank {
		n++
	}
	return sorted[min(max(n, 1), len(sorted))-1]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
