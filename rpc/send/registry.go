package send

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/internal/run"
)

// What a builder's APIs can list.
const (
	// APIBundle is eth_sendBundle.
	APIBundle = "eth_sendBundle"
	// APIShare is mev_sendBundle v0.1.
	APIShare = "mev_sendBundle"
	// APICancel is support for replacementUuid in both, and for eth_cancelBundle. Only a builder
	// with it gets orders that have a replacementUuid: at another one, the signer could neither
	// replace nor cancel the order.
	APICancel = "cancel"
)

// ownNames are the names of the operator's own builder in requests and in a registry.
var ownNames = []string{"default", "vendor", "flashbots"}

// Builder is a recipient of orders.
type Builder struct {
	// Name is the name that orders use, in any case.
	Name string `yaml:"name"`
	// URL takes JSON-RPC by POST: http or https.
	URL string `yaml:"url"`
	// APIs are what it understands. If it lists neither of the two that take orders, it understands
	// APIBundle.
	APIs []string `yaml:"apis"`
	// Own says that it is the operator's own builder, which gets every order. A builder named
	// default, vendor or flashbots is the operator's own too.
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

// Parse reads the registry: a YAML list of builders. Unknown keys are errors. The error names the
// builder and the key, or the line.
//
//   - name: default
//     url: "https://builder.example.org"
//     apis: [eth_sendBundle, mev_sendBundle, cancel]   # [eth_sendBundle] if it is left out
//     own: true                                        # gets every order
func Parse(text []byte) ([]Builder, error) {
	list, err := run.DecodeList[Builder](text)
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
