package app

import (
	"encoding/json"
	"time"

	devnetapp "github.com/gavel-relay/gavel/devnet/app"
)

// The lab talks with a service in another process in lines of JSON. The first line from the lab is
// the service's configuration, the others are orders; the service answers with reports. If the pipe
// closes without an order to stop, the lab is dead, and the service ends at once.

// serviceConfig configures a service for one start. Exactly one of Relay, RPC, Stream and Journal
// is set.
type serviceConfig struct {
	Name string `json:"name"`
	// Address is the host:port at which the service listens. Narrow makes the send buffers of its
	// connections small (see narrow).
	Address string `json:"address"`
	Narrow  bool   `json:"narrow,omitempty"`
	// Debug logs on the debug level too. The log goes to stderr.
	Debug bool      `json:"debug,omitempty"`
	Clock clockPlan `json:"clock"`

	Relay   *devnetapp.RelayConfig  `json:"relay,omitempty"`
	RPC     *devnetapp.RPCConfig    `json:"rpc,omitempty"`
	Stream  *devnetapp.StreamConfig `json:"stream,omitempty"`
	Journal *journalPlan            `json:"journal,omitempty"`
}

// clockPlan describes the lab's clock: it shows Origin at the Unix time StartedNs (nanoseconds),
// and runs Speed times as fast as wall time from then on. It stands while StartedNs is 0.
type clockPlan struct {
	Origin    time.Time     `json:"origin"`
	Speed     float64       `json:"speed"`
	StartedNs int64         `json:"started_ns,omitempty"`
	Skew      time.Duration `json:"skew,omitempty"`
}

// journalPlan configures a server of journals that runs apart from the service that writes to it.
type journalPlan struct {
	DataDir string `json:"data_dir"`
	// Routes are the addresses, host:port, at which the servers of its cluster hear each other, and
	// Route is its own among them. Both are empty for a server that is alone.
	Route  string   `json:"route,omitempty"`
	Routes []string `json:"routes,omitempty"`
}

// order is an order of the lab to a running service; one of its fields is set.
type order struct {
	// StartedNs is when the lab's clock was started, as in clockPlan.
	StartedNs int64 `json:"started_ns,omitempty"`
	// Skew is the clock's offset from now on. With Jump, waits that have begun notice it too.
	Skew *time.Duration `json:"skew,omitempty"`
	Jump bool           `json:"jump,omitempty"`
	Stop bool           `json:"stop,omitempty"`
}

// report is what a service sends to the lab: that it serves, a fact of its journal, or why it
// ended.
type report struct {
	Ready   bool            `json:"ready,omitempty"`
	Subject string          `json:"subject,omitempty"`
	Fact    json.RawMessage `json:"fact,omitempty"`
	Ended   string          `json:"ended,omitempty"`
}
