package send

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/rpc"
)

// API is something that a builder understands.
type API string

// The APIs (orderflow.md §2.6).
const (
	SendBundle     API = "eth_sendBundle"      // with uuids, refunds and all that eth_sendBundle has
	ShareBundle    API = "v0.1"                // mev_sendBundle
	ShareReplaced  API = "v0.1-replacement"    // mev_sendBundle with the fields of replacement
	RefundTo       API = "refund-recipient"    // eth_sendBundle with refundPercent and refundRecipient
	CancelEndpoint API = "cancel-endpoint"     // eth_cancelBundle
	CancelEmpty    API = "cancel-empty-bundle" // eth_sendBundle without transactions
)

var knownAPIs = []API{SendBundle, ShareBundle, ShareReplaced, RefundTo, CancelEndpoint, CancelEmpty}

// Builder is one that orders may go to.
type Builder struct {
	// Name is what senders call it, whatever the case.
	Name string `yaml:"name"`
	// URL takes JSON-RPC by POST.
	URL  string `yaml:"url"`
	APIs []API  `yaml:"apis"`
	// Own: the operator's, which gets every order.
	Own bool `yaml:"own"`
}

// Has says whether the builder understands an API.
func (b Builder) Has(api API) bool { return slices.Contains(b.APIs, api) }

// ownNames always mean the operator's builders.
var ownNames = []string{"default", "vendor", "flashbots"}

// Registry knows the builders. Nobody changes it; a new list makes a new one.
type Registry struct {
	builders []Builder
}

// NewRegistry checks a list of builders: names, which must differ, URLs and APIs. Names of others than the operator's own may not be one of those
// that mean the operator's.
func NewRegistry(builders []Builder) (*Registry, error) {
	registry := new(Registry)
	var errs []error
	for _, b := range builders {
		b.Name = strings.ToLower(strings.TrimSpace(b.Name))
		if err := registry.check(b); err != nil {
			errs = append(errs, err)
			continue
		}
		registry.builders = append(registry.builders, b)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return registry, nil
}

func (r *Registry) check(b Builder) error {
	switch at, err := url.Parse(b.URL); {
	case b.Name == "":
		return errors.New("a builder has no name")
	case r.find(b.Name) >= 0:
		return fmt.Errorf("builder %s is there twice", b.Name)
	case slices.Contains(ownNames, b.Name) && !b.Own:
		return fmt.Errorf("builder %s: the name means the operator's own builder, which this one is not (own)", b.Name)
	case err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https":
		return fmt.Errorf("builder %s: url is not an http or https address", b.Name)
	case len(b.APIs) == 0:
		return fmt.Errorf("builder %s: apis is empty", b.Name)
	}
	for _, api := range b.APIs {
		if !slices.Contains(knownAPIs, api) {
			return fmt.Errorf("builder %s: unknown api %q, known are %v", b.Name, api, knownAPIs)
		}
	}
	return nil
}

func (r *Registry) find(name string) int {
	return slices.IndexFunc(r.builders, func(b Builder) bool { return b.Name == name })
}

// Builders are all of them.
func (r *Registry) Builders() []Builder { return slices.Clone(r.builders) }

// Choose are the builders that an order is for: the operator's own always, those that it names, or all of them. unknown are names that nobody has,
// which is no error.
func (r *Registry) Choose(order *rpc.Order) (chosen []Builder, unknown []string) {
	named := make(map[string]bool, len(order.Builders))
	for _, name := range order.Builders {
		name = strings.ToLower(strings.TrimSpace(name))
		if r.find(name) < 0 && !slices.Contains(ownNames, name) && !named[name] {
			unknown = append(unknown, name)
		}
		named[name] = true
	}
	for _, b := range r.builders {
		if b.Own || order.AllBuilders || named[b.Name] {
			chosen = append(chosen, b)
		}
	}
	return chosen, unknown
}

// Named are the builders with these names, in the registry's order: those that had an order and have to learn of its cancel. One that is not
// registered any more gets nothing.
func (r *Registry) Named(names []string) []Builder {
	var chosen []Builder
	for _, b := range r.builders {
		if slices.Contains(names, b.Name) {
			chosen = append(chosen, b)
		}
	}
	return chosen
}
