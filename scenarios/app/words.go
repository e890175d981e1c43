package app

import (
	"encoding/json"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/rpc/send"
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

	Relay   *relayPlan   `json:"relay,omitempty"`
	RPC     *rpcPlan     `json:"rpc,omitempty"`
	Stream  *streamPlan  `json:"stream,omitempty"`
	Journal *journalPlan `json:"journal,omitempty"`
}

// clockPlan is the lab's clock: chain time Origin at the wall's StartedNs, in nanoseconds of Unix
// time, and from then on Speed times as fast as the wall. It stands while StartedNs is 0.
type clockPlan struct {
	Origin    time.Time     `json:"origin"`
	Speed     float64       `json:"speed"`
	StartedNs int64         `json:"started_ns,omitempty"`
	Skew      time.Duration `json:"skew,omitempty"`
}

// relayPlan is what the operator of a relay has given it.
type relayPlan struct {
	Index         int           `json:"index"`
	Seed          uint64        `json:"seed"`
	DataDir       string        `json:"data_dir"`
	JournalURL    string        `json:"journal_url,omitempty"`
	BeaconURL     string        `json:"beacon_url"`
	ValidationURL string        `json:"validation_url"`
	HeaderCutOff  time.Duration `json:"header_cut_off"`
	PayloadCutOff time.Duration `json:"payload_cut_off"`
	TopBidQueue   int           `json:"top_bid_queue,omitempty"`
	// Trusted are builders by name whose bids count before they are executed.
	Trusted map[string]phase0.BLSPubKey `json:"trusted,omitempty"`
}

// rpcPlan is the same of the bundle RPC.
type rpcPlan struct {
	Seed          uint64              `json:"seed"`
	DataDir       string              `json:"data_dir"`
	JournalURL    string              `json:"journal_url,omitempty"`
	JournalListen string              `json:"journal_listen,omitempty"`
	ExecutionURL  string              `json:"execution_url"`
	Chain         *params.ChainConfig `json:"chain"`
	Builders      []send.Builder      `json:"builders"`
	BlockTime     time.Duration       `json:"block_time"`
	Payers        []common.Address    `json:"payers"`
}

// streamPlan is the same of the stream.
type streamPlan struct {
	DataDir    string `json:"data_dir"`
	JournalURL string `json:"journal_url"`
	QueueBytes int    `json:"queue_bytes,omitempty"`
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
