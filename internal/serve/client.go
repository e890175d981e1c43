package serve

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ClientIP is the address that a request comes from. X-Forwarded-For is trusted as far as trusted
// proxies wrote it: from its end, the first address that is no trusted proxy's is the client's. The
// client may have written everything before it. ClientIP is the zero address if the connection has
// none, as over a Unix socket.
func ClientIP(r *http.Request, trustedProxies []netip.Prefix) netip.Addr {
	client, ok := parseIP(r.RemoteAddr)
	if !ok || !within(client, trustedProxies) {
		return client
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		address, ok := parseIP(strings.TrimSpace(hop))
		if !ok {
			break // client is the last address that a trusted proxy has seen
		}
		client = address
		if !within(client, trustedProxies) {
			break
		}
	}
	return client
}

// ByClient returns keys of requests by client, for a Limiter. Of an IPv6 address only the first 64
// bits count, because a client usually has such a network of its own. Requests without an address
// share a key.
func ByClient(trustedProxies []netip.Prefix) func(*http.Request) string {
	return func(r *http.Request) string {
		client := ClientIP(r, trustedProxies)
		if !client.IsValid() {
			return "unknown"
		}
		return network(client)
	}
}

// network is the key of a client: its IPv4 address, or the first 64 bits of its IPv6 address.
func network(client netip.Addr) string {
	if client.Is6() {
		return netip.PrefixFrom(client, 64).Masked().String()
	}
	return client.String()
}

// parseIP reads an address with or without a port. It turns an IPv4 address in IPv6 form into IPv4,
// and drops a zone.
func parseIP(text string) (netip.Addr, bool) {
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap().WithZone(""), true
	}
	address, err := netip.ParseAddr(text)
	return address.Unmap().WithZone(""), err == nil
}

func within(address netip.Addr, prefixes []netip.Prefix) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(address) })
}
