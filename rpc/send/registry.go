package send

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/internal/yamllist"
)

// What a builder's APIs can name.
const (
	// APIBundle is eth_sendBundle.
	APIBundle = "eth_sendBundle"
	// APIShare is mev_sendBundle v0.1.
	APIShare = "mev_sendBundle"
	// APICancel is replacementUuid in both, and eth_cancelBundle. Only a builder with it gets orders
	// that have a replacementUuid: another one would hold an order that its signer could neither
	// replace nor cancel.
	APICancel = "cancel"
)

// ownNames are what the operator's own builder is called in requests, and in a registry.
var ownNames = []string{"default", "vendor", "flashbots"}

// Builder is somebody who takes orders.
type Builder struct {
	// Name is what orders call it, in any case.
	Name string `yaml:"name"`
	// URL takes JSON-RPC by POST: http or https.
	URL string `yaml:"url"`
	// APIs are what it understands; with none of the two that take orders, it is APIBundle that takes
	// them.
	APIs []string `yaml:"apis"`
	// Own says that it is the operator's own, which gets every order. So is one that is called
	// default, vendor or flashbots.
	Own bool `yaml:"own"`
}

// Has says whether a builder understands an API.
func (b Builder) Has(api string) bool {
	if api == APIBundle && !slices.Contains(b.APIs, APIShare) {
		return true
	}
	return slices.Contains(b.APIs, api)
}

func (b Builder) isOwn() bool { return b.Own || containsName(ownNames, b.Name) }

// Parse reads the registry: a YAML list of builders. Unknown keys are mistakes. The error names the
// builder and the key, or the queue.
//
//   - name: default
//     url: "https://builder.example.org"
//     apis: [eth_sendBundle, mev_sendBundle, cancel]   # [eth_sendBundle] if it is left out
//     own: true                                        # gets every order
func Parse(text []byte) ([]Builder, error) {
	list, err := yamllist.Decode[Builder](text)
	if err != nil {
		return nil, fmt.Errorf("read registry of builders: %w", err)
	}
	names := map[string]bool{}
	for i, b := range list {
		if err := b.check(); err != nil {
			return nil, fmt.Errorf("builder %d (%q): %w", i+1, b.Name, err)
		}
		name := strings.ToLower(b.Name)
		if names[name] {
			return nil, fmt.Errorf("builder %d (%q): name: there is another one of this name", i+1, b.Name)
		}
		names[name] = true
	}
	return list, nil
}

func (b Builder) check() error {
	if b.Name == "" {
		return errors.New("name: is missing")
	}
	at, err := url.Parse(b.URL)
	if err != nil || (at.Scheme != "http" && at.Scheme != "https") || at.Host == "" {
		return fmt.Errorf("url: %.90q is not an http or https URL", b.URL)
	}
	for _, api := range b.APIs {
		if api != APIBundle && api != APIShare && api != APICancel {
			return fmt.Errorf("apis: %.90q is none of %s, %s and %s", api, APIBundle, APIShare, APICancel)
		}
	}
	return nil
}
