package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Share is how many of a mix's requests are of a kind.
type Share struct {
	Kind   Kind `json:"kind"`
	Weight int  `json:"weight"`
}

// Mix says how the kinds of requests share the load. The shares hold at any speed: a request is
// sent when its turn has come, so a service that is slow with one kind gets less of all.
type Mix []Share

// UsualMix is the load on a relay, unless the operator wants another one. Most requests that relays
// get are submissions.
var UsualMix = Mix{{Registrations, 2}, {Submissions, 60}, {Headers, 30}, {Data, 8}}

// UsualRPCMix is the load on a bundle RPC, unless the operator wants another one.
var UsualRPCMix = Mix{{Bundles, 50}, {Shares, 20}, {Private, 15}, {Status, 15}}

// UsualStreamMix is the load on a bundle RPC whose stream is followed: orders that make events.
var UsualStreamMix = Mix{{Private, 1}}

// mostWeight bounds the sum of a mix's weights.
const mostWeight = 10_000

// ParseMix reads a mix such as "submissions:60,headers:30" of the given kinds.
func ParseMix(text string, kinds []Kind) (mix Mix, err error) {
	sum := 0
	for part := range strings.SplitSeq(text, ",") {
		name, number, _ := strings.Cut(strings.TrimSpace(part), ":")
		weight, err := strconv.Atoi(number)
		if err != nil || weight < 0 || weight > mostWeight || !slices.Contains(kinds, Kind(name)) {
			return nil, fmt.Errorf("%q is no share of a mix: give kind:weight, of the kinds %v", part, kinds)
		}
		if weight > 0 {
			mix = append(mix, Share{Kind(name), weight})
			sum += weight
		}
	}
	if sum == 0 || sum > mostWeight {
		return nil, fmt.Errorf("the weights of %q sum up to %d: give 1 to %d", text, sum, mostWeight)
	}
	return mix, nil
}

// String writes a mix as ParseMix reads it.
func (m Mix) String() string {
	parts := make([]string, len(m))
	for i, share := range m {
		parts[i] = fmt.Sprintf("%s:%d", share.Kind, share.Weight)
	}
	return strings.Join(parts, ",")
}

// Cycle returns the order in which requests are sent, again and again. Each kind is spread evenly
// over it.
func (m Mix) Cycle() (order []Kind) {
	sum := 0
	for _, share := range m {
		sum += share.Weight
	}
	credit := make([]int, len(m))
	for range sum {
		best := 0
		for i, share := range m {
			credit[i] += share.Weight
			if credit[i] > credit[best] {
				best = i
			}
		}
		credit[best] -= sum
		order = append(order, m[best].Kind)
	}
	return order
}

// Phase is a part of a run.
type Phase struct {
	Name string        `json:"name"`
	For  time.Duration `json:"ns"`
	// PerSecond is the rate at which requests are due. With 0 each connection sends its next request
	// when it has the answer to the last one.
	PerSecond float64 `json:"perSecond"`
	// Connections bounds how many requests are under way.
	Connections int `json:"connections"`
}

// Due returns when the request with this number is due, since the beginning of the phase.
func (p Phase) Due(n int) time.Duration {
	if p.PerSecond <= 0 {
		return 0
	}
	return time.Duration(float64(n) / p.PerSecond * float64(time.Second))
}
