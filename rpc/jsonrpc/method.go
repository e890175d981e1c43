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
// is null. An error that is a *rpc.Refused is the caller's answer; any other is our own fault: the
// caller hears "internal error", the log the rest. It is called concurrently.
type Method func(ctx context.Context, call *Call) (result any, err error)

// Call is a request to a method, which may keep it; nobody changes it.
type Call struct {
	// Method is the name in the table, whatever prefix the caller used.
	Method string
	// Params is the list of the parameters, valid JSON, or nothing. It is a part of the body, which it
	// keeps in memory.
	Params json.RawMessage
	// Signer is who signed the body; the zero address if the method needs no signature and there was
	// none.
	Signer     common.Address
	ReceivedAt time.Time
	// Client is the address that the request comes from; the zero value if the connection has none.
	Client netip.Addr
	// Origin is the header x-flashbots-origin: who sent the caller, at most 255 bytes, and only the
	// caller's word.
	Origin string
}

// method is a row of the table.
type method struct {
	name     string
	do       Method
	unsigned bool
	limiter  *serve.Limiter // of clients; nil for none of its own
}

// table is what a server knows, by all names under which a method can be called.
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

// addAliases adds each method under the other prefixes of its own. A name in the table goes before
// an alias; two methods may not have the same.
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
