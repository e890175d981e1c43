package jsonrpc

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/serve"
)

// Method answers one call. The result is an Appender, or anything that encoding/json can write; nil
// is null. An error that is a *rpc.Refused is sent to the client. Any other error is the service's
// fault: the client gets "internal error", and the log the details. It is called concurrently.
type Method func(ctx context.Context, call *Call) (result any, err error)

// Call is a request to a method. The method may keep it; it is never changed.
type Call struct {
	// Method is the name in the table, whatever prefix the client used.
	Method string
	// Params is the list of the parameters, valid JSON, or nil. It refers to the body and keeps it
	// in memory.
	Params json.RawMessage
	// Signer is the address that signed the body; zero if the method needs no signature and there
	// was none.
	Signer     common.Address
	ReceivedAt time.Time
	// Client is the address that the request comes from; the zero value if the connection has none.
	Client netip.Addr
	// Origin is the header X-Flashbots-Origin: where the client's user comes from, at most 255
	// bytes. It is not verified.
	Origin string
}

// method is a row of the table.
type method struct {
	name     string
	do       Method
	unsigned bool
	limiter  *serve.Limiter // of the client's IP; nil if the method has no limit of its own
}

// table returns the server's methods, by all names under which they can be called.
func (c *Config) table() (map[string]*method, error) {
	table := make(map[string]*method, 2*len(c.Methods))
	for name, call := range c.Methods {
		table[name] = &method{name: name, do: call}
	}
	for _, name := range c.Unsigned {
		known, ok := table[name]
		if !ok {
			return nil, fmt.Errorf("unknown method %q needs no signature", name)
		}
		known.unsigned = true
	}
	for name, rate := range c.Limits.Methods {
		known, ok := table[name]
		if !ok {
			return nil, fmt.Errorf("unknown method %q has a rate limit", name)
		}
		known.limiter = rate.limiter(c.Limits.Keys)
	}
	return table, c.addAliases(table)
}

// addAliases adds each method under its aliases. A name in the table takes precedence over an
// alias; two methods may not have the same alias.
func (c *Config) addAliases(table map[string]*method) error {
	for _, name := range slices.Sorted(maps.Keys(c.Methods)) {
		for prefix, others := range c.Aliases {
			rest, fits := strings.CutPrefix(name, prefix)
			if !fits {
				continue
			}
			for _, other := range others {
				alias := other + rest
				if known, taken := table[alias]; !taken {
					table[alias] = table[name]
				} else if known.name != alias && known.name != name {
					return fmt.Errorf("%q would be both %s and %s", alias, known.name, name)
				}
			}
		}
	}
	return nil
}
