package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/gavel-relay/gavel/conformance/mutant"
)

// dumb are two targets by their ids: each answers every request with the same status, and does
// nothing else.
var dumb = map[string]int{"200": http.StatusOK, "404": http.StatusNotFound}

// Mutate puts the mutant with this id between the suite and the target. It does nothing without an
// id. The id 200 or 404 replaces the target by one that answers everything with that status.
func Mutate(ctx context.Context, o *Options, id string) (stop func(), err error) {
	if id == "" {
		return func() {}, nil
	}
	if status, is := dumb[id]; is {
		return putBefore(ctx, o, "", func(string) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		})
	}
	m, found := mutant.Find(id)
	if !found {
		return nil, Mistake("there is no mutant %s: see gavel-lab conformance prove --list", id)
	}
	if m.Swaps() {
		return swap(o, m.Iface), nil
	}
	return putBefore(ctx, o, m.Iface, m.Handler)
}

// putBefore puts a proxy before each address of an interface, or of all interfaces if none is
// named. Equal addresses share one proxy, because a mutant must see all requests to its target.
func putBefore(ctx context.Context, o *Options, iface string, handler func(base string) http.Handler) (
	stop func(), err error) {
	var servers []*http.Server
	stop = func() {
		for _, server := range servers {
			_ = server.Close()
		}
	}
	proxies := map[string]string{}
	for _, address := range copyTarget(o, iface) {
		if proxies[*address] == "" {
			listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
			if err != nil {
				stop()
				return nil, fmt.Errorf("put a mutant before %s: %w", *address, err)
			}
			server := &http.Server{Handler: handler(*address), ReadHeaderTimeout: 10 * time.Second}
			servers = append(servers, server)
			go func() { _ = server.Serve(listener) }() // stop ends it by Close
			proxies[*address] = "http://" + listener.Addr().String()
		}
		*address = proxies[*address]
	}
	return stop, nil
}

// copyTarget gives the options a copy of their target, and returns the addresses in the copy of one
// interface, or of all if none is named. The caller may change them.
func copyTarget(o *Options, iface string) (addresses []*string) {
	t := *o.Target
	of := map[string][]*string{}
	if t.Relay != nil {
		relay := *t.Relay
		t.Relay = &relay
		of["relay"] = append(of["relay"], &relay.ProposerURL, &relay.BuilderURL, &relay.DataURL)
	}
	if t.RPC != nil {
		rpc := *t.RPC
		t.RPC = &rpc
		of["rpc"] = append(of["rpc"], &rpc.URL)
	}
	if t.Stream != nil {
		stream := *t.Stream
		t.Stream = &stream
		of["stream"] = append(of["stream"], &stream.URL)
	}
	if t.Sidecar != nil {
		sidecar := *t.Sidecar
		t.Sidecar = &sidecar
		of["sidecar"] = append(of["sidecar"], &sidecar.URL)
	}
	t.Limits = t.Limits.Clone()
	for _, more := range []map[string]*string{t.Literal.Addresses(), t.Limits.Addresses()} {
		for name, address := range more {
			of[name] = append(of[name], address)
		}
	}
	o.Target = &t
	for name, list := range of {
		if iface == "" || iface == name {
			addresses = append(addresses, list...)
		}
	}
	return addresses
}

// swap exchanges the literal instance of an interface with the first one: each answers in the
// other's place.
func swap(o *Options, iface string) (stop func()) {
	t := *o.Target
	if literal := t.Literal.Addresses()[iface]; literal != nil {
		swapped := t.AsLiteral(iface)
		switch iface {
		case "relay":
			*literal = t.Relay.ProposerURL
		case "stream":
			*literal = t.Stream.URL
		default:
			*literal = t.RPC.URL
		}
		swapped.Literal = t.Literal
		t = *swapped
	}
	o.Target = &t
	return func() {}
}

// listMutants returns all mutants: those before a target, and those inside our services.
func listMutants() []mutant.Mutant { return slices.Concat(mutant.All(), mutant.InServices()) }

// killersOf returns the mutants on which a clause must fail, each with what it does wrong.
func killersOf(id string) (killers []string) {
	for _, m := range listMutants() {
		if slices.Contains(m.MustKill, id) {
			killers = append(killers, m.ID+": "+m.What)
		}
	}
	return killers
}

// Killers returns, for each clause, the ids of the mutants that prove it: its specs must fail on
// them. Blanket mutants, such as one that refuses everything, prove no clause.
func Killers() map[string][]string {
	all := map[string][]string{}
	for _, m := range listMutants() {
		if m.Blanket() {
			continue
		}
		for _, id := range m.MustKill {
			all[id] = append(all[id], m.ID)
		}
	}
	return all
}
