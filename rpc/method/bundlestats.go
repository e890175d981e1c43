package method

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// statsBlocks is how far from the newest block statistics may be asked for.
const statsBlocks = 20

// bundleStatsResult answers flashbots_getBundleStatsV2. Fields are added as they become known.
type bundleStatsResult struct {
	IsSimulated            bool           `json:"isSimulated"`
	IsHighPriority         *bool          `json:"isHighPriority,omitempty"`
	ReceivedAt             string         `json:"receivedAt,omitempty"`
	SimulatedAt            string         `json:"simulatedAt,omitempty"`
	ConsideredByBuildersAt []builderStamp `json:"consideredByBuildersAt,omitempty"`
	SealedByBuildersAt     []builderStamp `json:"sealedByBuildersAt,omitempty"`
}

// bundleStatsV1Result answers flashbots_getBundleStats. Times that are not known yet are left out.
type bundleStatsV1Result struct {
	IsSimulated    bool   `json:"isSimulated"`
	IsSentToMiners bool   `json:"isSentToMiners"`
	IsHighPriority bool   `json:"isHighPriority"`
	SimulatedAt    string `json:"simulatedAt,omitempty"`
	SubmittedAt    string `json:"submittedAt,omitempty"`
	SentToMinersAt string `json:"sentToMinersAt,omitempty"`
}

// builderStamp says which builder had the bundle, and when. Pubkey is the builder's name, since its
// key is not known here.
type builderStamp struct {
	Pubkey    string `json:"pubkey"`
	Timestamp string `json:"timestamp"`
}

// stamp is a time in the format of these statistics.
func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// bundleStats is flashbots_getBundleStatsV2.
func (m *Methods) bundleStats() Method {
	stamps := listOf(object(needs("pubkey", text, "the builder, by its name"), needs("timestamp", timestamp, "when")))
	return m.completeBundleStats(Method{
		Name:    "flashbots_getBundleStatsV2",
		Summary: "Say how far a bundle of one's own came.",
		About:   "`gavel_getOrderStatus` says more: also why.",
		Example: `[{"bundleHash":"'$HASH1'","blockNumber":"'$NEXT'"}]`,
		Result: object(
			needs("isSimulated", boolean, "a simulation has ended"),
			may("isHighPriority", boolean, "its signer's simulations come first"),
			may("receivedAt", timestamp, "when the request was complete"),
			may("simulatedAt", timestamp, "when the first simulation ended"),
			may("consideredByBuildersAt", stamps, "builders that took it"),
			may("sealedByBuildersAt", stamps, "when its block was seen; the builder is named if only one had it"),
		),
	}, func(s bundleStatsResult) any { return s })
}

// bundleStatsV1 is flashbots_getBundleStats, which client libraries still call.
func (m *Methods) bundleStatsV1() Method {
	return m.completeBundleStats(Method{
		Name:    "flashbots_getBundleStats",
		Summary: "Say what `flashbots_getBundleStatsV2` says, in the form of its first version.",
		About:   "Deprecated: it is for clients that know no other.",
		Example: `[{"bundleHash":"'$HASH1'","blockNumber":"'$NEXT'"}]`,
		Result: object(
			needs("isSimulated", boolean, "a simulation has ended"),
			needs("isSentToMiners", boolean, "a builder took it"),
			needs("isHighPriority", boolean, "its signer's simulations come first"),
			may("simulatedAt", timestamp, "when the first simulation ended"),
			may("submittedAt", timestamp, "when the request was complete"),
			may("sentToMinersAt", timestamp, "when the first builder took it"),
		),
	}, func(s bundleStatsResult) any { return s.inV1() })
}

// completeBundleStats completes a version of the method; form converts the result to that version.
func (m *Methods) completeBundleStats(version Method, form func(bundleStatsResult) any) Method {
	version.Params = []Param{required("query", object(
		needs("bundleHash", hash, "as it was answered when the bundle was sent"),
		may("blockNumber", anyNumber, "block that it was for, within 20 of the newest one"),
	))}
	version.Refusals = []rpc.Refusal{rpc.InvalidParams, rpc.StatsTooOld, rpc.NotReady, rpc.JournalUnavailable}
	version.Beyond = true
	version.Do = func(ctx context.Context, call *Call) (any, error) {
		hash, err := m.askedStats(call)
		if err != nil {
			return nil, err
		}
		stats, err := m.statsOf(ctx, call.Signer, hash)
		if err != nil {
			return nil, err
		}
		return form(stats), nil
	}
	return version
}

// inV1 converts the result to the first version.
func (s bundleStatsResult) inV1() bundleStatsV1Result {
	v1 := bundleStatsV1Result{IsSimulated: s.IsSimulated, SimulatedAt: s.SimulatedAt, SubmittedAt: s.ReceivedAt}
	v1.IsHighPriority = s.IsHighPriority != nil && *s.IsHighPriority
	if len(s.ConsideredByBuildersAt) > 0 {
		v1.IsSentToMiners, v1.SentToMinersAt = true, s.ConsideredByBuildersAt[0].Timestamp
	}
	return v1
}

// askedStats returns the bundle whose statistics are asked for.
func (m *Methods) askedStats(call *Call) (common.Hash, error) {
	var p struct {
		Hash   *bundle.HashParam `json:"bundleHash"`
		Number bundle.Number     `json:"blockNumber"`
	}
	if err := bundle.ReadPositional(call.Params, &p); err != nil {
		return common.Hash{}, err
	}
	if p.Hash == nil {
		return common.Hash{}, bundle.MissingParam("params[0].bundleHash")
	}
	return common.Hash(*p.Hash), m.nearHead(p.Number)
}

// nearHead refuses a block that is too far from the newest one.
func (m *Methods) nearHead(number bundle.Number) error {
	head := m.Submitter.Head().Number
	if number.Set && (number.Value+statsBlocks < head || number.Value > head+statsBlocks) {
		return rpc.StatsTooOld.With("%d, the newest one is %d", number.Value, head)
	}
	return nil
}

func (m *Methods) statsOf(ctx context.Context, signer common.Address, hash common.Hash) (bundleStatsResult, error) {
	status, err := m.Tracker.Status(ctx, signer, hash)
	if err != nil || status == nil {
		return bundleStatsResult{}, err
	}
	high := m.Users.High(signer)
	result := bundleStatsResult{IsHighPriority: &high, ReceivedAt: stamp(status.ReceivedAt)}
	if len(status.Simulations) > 0 {
		result.IsSimulated, result.SimulatedAt = true, stamp(status.Simulations[0].At)
	}
	seen := map[string]bool{}
	for _, d := range status.Deliveries {
		if d.Error == "" && !seen[d.Builder] {
			seen[d.Builder] = true
			result.ConsideredByBuildersAt = append(result.ConsideredByBuildersAt, builderStamp{d.Builder, stamp(d.At)})
		}
	}
	if status.State == rpc.Landed {
		sealed := builderStamp{Timestamp: stamp(status.EndedAt)}
		if len(seen) == 1 { // else it is unknown whose block it is
			sealed.Pubkey = result.ConsideredByBuildersAt[0].Pubkey
		}
		result.SealedByBuildersAt = []builderStamp{sealed}
	}
	return result, nil
}
