package app

import (
	"encoding/json"
	"time"

	devnetapp "github.com/gavel-relay/gavel/devnet/app"
)

// The lab and a service of its, in a process of its own, speak in lines of JSON: the lab's first
// line is what the service is to be, the others are orders; the service answers with reports. When
// the lab's end closes without an order to stop, the lab is dead, and the service ends at once.

// serviceConfig is what one life of a service is to be. Exactly one of the last fields is set.
type serviceConfig struct {
	Name string `json:"name"`
	// Address is the host:port at which it serves; Narrow keeps little of what is written to
	// connections there (see narrow).
	Address string `json:"address"`
	Narrow  bool   `json:"narrow,omitempty"`
	// Debug logs more. The log goes to stderr.
	Debug bool      `json:"debug,omitempty"`
	Clock clockPlan `json:"clock"`

	Relay   *devnetapp.RelayConfig  `json:"relay,omitempty"`
	RPC     *devnetapp.RPCConfig    `json:"rpc,omitempty"`
	Stream  *devnetapp.StreamConfig `json:"stream,omitempty"`
	Journal *journalPlan            `json:"journal,omitempty"`
}

// clockPlan is the lab's clock: chain time Origin at the wall's StartedNs, in nanoseconds of Unix
// time, and from then on Speed times as fast as the wall. It stands while StartedNs is 0.
type clockPlan struct {
	Origin    time.Time     `json:"origin"`
	Speed     float64       `json:"speed"`
	StartedNs int64         `json:"started_ns,omitempty"`
	Skew      time.Duration `json:"skew,omitempty"`
}

// journalPlan is a journal's server that stands apart from the service that writes to it.
type journalPlan struct {
	DataDir string `json:"data_dir"`
}

// order is what the lab wants of a running service: one of the fields.
type order struct {
	// StartedNs is when the lab's clock was started, as in clockPlan.
	StartedNs int64 `json:"started_ns,omitempty"`
	// Skew is by how much its clock is wrong from now on; with Jump also for waits that have begun.
	Skew *time.Duration `json:"skew,omitempty"`
	Jump bool           `json:"jump,omitempty"`
	Stop bool           `json:"stop,omitempty"`
}

// report is what a service says: that it serves, a fact of its journal, or why it has ended.
type report struct {
	Ready   bool            `json:"ready,omitempty"`
	Subject string          `json:"subject,omitempty"`
	Fact    json.RawMessage `json:"fact,omitempty"`
	Ended   string          `json:"ended,omitempty"`
}
