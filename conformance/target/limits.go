package target

import (
	"cmp"
	"errors"
	"strings"
	"time"
)

// Limits are limits that the operator has configured and that the suite cannot find out by
// requests. The suite exceeds each of them once. A limit that is left out is not judged.
type Limits struct {
	// HeaderCutOffMs is until when bids are served, in milliseconds after the slot's start.
	HeaderCutOffMs int       `yaml:"headerCutOffMs,omitempty" json:"headerCutOffMs,omitempty"`
	Relay          *Rate     `yaml:"relay,omitempty" json:"relay,omitempty"`
	RPC            *Rate     `yaml:"rpc,omitempty" json:"rpc,omitempty"`
	Stream         *Audience `yaml:"stream,omitempty" json:"stream,omitempty"`
	// RefundsPerPage is how many refunds the bundle RPC lists in one answer.
	RefundsPerPage int `yaml:"refundsPerPage,omitempty" json:"refundsPerPage,omitempty"`
}

// Rate is how many requests an interface takes from one address.
type Rate struct {
	PerSecond int `yaml:"perSecond" json:"perSecond"`
	// Burst is how many requests are taken at once; by default as many as PerSecond.
	Burst int `yaml:"burst,omitempty" json:"burst"`
	// URL is another instance of the same service, with these limits. The suite can overload it
	// while it judges the first one by everything else. Empty means the first one.
	URL string `yaml:"url,omitempty" json:"url"`
}

// Audience is how many listeners a stream accepts.
type Audience struct {
	Listeners int `yaml:"listeners" json:"listeners"`
	// URL is another instance, as in Rate.
	URL string `yaml:"url,omitempty" json:"url"`
}

// HeaderCutOff returns HeaderCutOffMs as a duration.
func (l Limits) HeaderCutOff() time.Duration {
	return time.Duration(l.HeaderCutOffMs) * time.Millisecond
}

// Declares says whether the target declares a setting of clauses.Settings.
func (t *Target) Declares(setting string) bool {
	switch setting {
	case "limits.headerCutOffMs":
		return t.Limits.HeaderCutOffMs > 0
	case "limits.relay":
		return t.Limits.Relay != nil
	case "limits.rpc":
		return t.Limits.RPC != nil
	case "limits.stream":
		return t.Limits.Stream != nil
	case "limits.refundsPerPage":
		return t.Limits.RefundsPerPage > 0
	case "sidecar.minBidWei":
		return t.Sidecar != nil && t.Sidecar.MinBidWei != ""
	case "relay.trustedBuilders":
		return t.Relay != nil && len(t.Relay.TrustedBuilders) > 0
	default:
		iface, is := strings.CutPrefix(setting, "literal.")
		return is && t.Literal.Addresses()[iface] != nil
	}
}

// complete fills in defaults and returns an error if a limit is wrong.
func (l *Limits) complete(t *Target) error {
	if l.HeaderCutOffMs < 0 {
		return errors.New("limits.headerCutOffMs is negative: give milliseconds into the slot, or leave it out")
	}
	if l.RefundsPerPage < 0 {
		return errors.New("limits.refundsPerPage is negative: give how many refunds an answer lists, or leave it out")
	}
	for name, rate := range map[string]*Rate{"relay": l.Relay, "rpc": l.RPC} {
		if rate == nil {
			continue
		}
		if !t.Has(name) {
			return errors.New("limits." + name + " is of an interface that the target does not have")
		}
		rate.Burst = cmp.Or(rate.Burst, rate.PerSecond)
		if rate.PerSecond <= 0 || rate.Burst <= 0 {
			return errors.New("limits." + name + ": give perSecond, the requests of one address in a second")
		}
		if name == "relay" {
			rate.URL = cmp.Or(rate.URL, t.Relay.ProposerURL)
		} else {
			rate.URL = cmp.Or(rate.URL, t.RPC.URL)
		}
	}
	if l.Stream == nil {
		return nil
	}
	if !t.Has("stream") {
		return errors.New("limits.stream is of an interface that the target does not have")
	}
	if l.Stream.Listeners <= 0 {
		return errors.New("limits.stream: give listeners, how many there is room for")
	}
	l.Stream.URL = cmp.Or(l.Stream.URL, t.Stream.URL)
	return nil
}

// Addresses returns the addresses of the instances with limits, by interface. The caller may change
// them.
func (l *Limits) Addresses() map[string]*string {
	all := map[string]*string{}
	if l.Relay != nil {
		all["relay"] = &l.Relay.URL
	}
	if l.RPC != nil {
		all["rpc"] = &l.RPC.URL
	}
	if l.Stream != nil {
		all["stream"] = &l.Stream.URL
	}
	return all
}

// Clone returns a copy that shares nothing with the original.
func (l Limits) Clone() Limits {
	l.Relay, l.RPC, l.Stream = copied(l.Relay), copied(l.RPC), copied(l.Stream)
	return l
}

func copied[T any](value *T) *T {
	if value == nil {
		return nil
	}
	one := *value
	return &one
}
