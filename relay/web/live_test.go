package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
)

// The view follows the policy as the pages do, and says who leads, what was refused, served and
// delivered.
func TestLive(t *testing.T) {
	for name, row := range map[string]struct {
		policy    Policy
		at        time.Duration
		delivered bool
		want      string
	}{
		"running": {at: time.Second, want: `{"slot":100,"over":false,"now_ms":1000,"curves":[` +
			`{"builder":"B","ms":[-2500,-2000],"gwei":[123456789,500000000]},{"builder":"A","ms":[-3000],"gwei":[400000000]}],` +
			`"leader":"A","leader_eth":"0.400000","headers_ms":[500],"bids":5,"refused":2}`},
		"held back": {policy: Policy{HideLeading: true}, at: time.Second, want: `{"slot":100,"over":false,"now_ms":1000,` +
			`"curves":[],"leader":"A","headers_ms":[500],"bids":5,"refused":2}`},
		"over": {at: time.Second, delivered: true, want: `"leader":"alpha","leader_eth":"0.400000","headers_ms":[500],` +
			`"bids":5,"refused":2,"delivered":"alpha"}`},
	} {
		known, p, at := recorded(auction(row.delivered)), policyOf(row.policy), begin.Add(row.at)
		raw, err := json.Marshal(p.Live(p.Show(&known, at), at))
		if err != nil || !strings.HasSuffix(string(raw), row.want) {
			t.Errorf("%s: %s, want %s", name, raw, row.want)
		}
	}
}

// Viewers follow the first auction that is not over, and stay with the newest when all are.
func TestCurrent(t *testing.T) {
	a, p := Auctions{Spec: spec}, policyOf(Policy{})
	if _, known := a.Current(p, begin); known {
		t.Error("there is an auction without facts")
	}
	for i := range phase0.Slot(3) {
		trace := traceOf(1, 1, 1)
		trace.Slot += i
		a.Record(relay.TopChanged{At: begin, Trace: trace})
	}
	for at, want := range map[time.Duration]phase0.Slot{
		-time.Second: slot, 4*time.Second - 1: slot, 4 * time.Second: slot + 1, 16 * time.Second: slot + 2,
		time.Hour: slot + 2,
	} {
		if got, known := a.Current(p, begin.Add(at)); got != want || !known {
			t.Errorf("at %s: slot %d, want %d", at, got, want)
		}
	}
}

// However many bids there are, of however many builders and of whatever value, the view stays
// small, and each curve ends with its last bid.
func TestLiveIsBounded(t *testing.T) {
	a, p := Auctions{Spec: spec}, policyOf(Policy{})
	for i := range 3900 {
		trace := traceOf(byte(i%30), byte(i%90), uint64(i)*1e15)
		if i%7 == 0 {
			trace.ValueWei = new(uint256.Int).SetAllOne()
		}
		at := begin.Add(time.Duration(i-3900) * time.Millisecond)
		a.Record(relay.SubmissionJudged{Trace: trace, ReceivedAt: at, EligibleAt: at})
	}
	known, _ := a.Of(slot)
	live := p.Live(p.Show(&known, begin), begin)
	raw, err := json.Marshal(live)
	if err != nil || len(raw) > 48<<10 || len(live.Curves) != maxCurves {
		t.Errorf("%d bytes, %d curves, %v", len(raw), len(live.Curves), err)
	}
	for _, curve := range live.Curves {
		if len(curve.Ms) > maxPoints || len(curve.Ms) != len(curve.Gwei) || curve.Ms[len(curve.Ms)-1] < -30 {
			t.Errorf("%s has %d points, the last at %s", curve.Builder, len(curve.Ms), fmt.Sprint(curve.Ms[len(curve.Ms)-1]))
		}
	}
}
