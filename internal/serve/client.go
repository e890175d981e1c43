package serve

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ClientIP is the address that a request comes from. X-Forwarded-For is believed as far as trusted
// proxies wrote it: read from its end, the first address that is no trusted proxy's is the
// client's; what stands before it is the client's own word. It is the zero address when the
// connection has none, as over a Unix socket.
func ClientIP(r *http.Request, trustedProxies []netip.Prefix) netip.Addr {
	client, ok := parseIP(r.RemoteAddr)
	if !ok || !within(client, trustedProxies) {
		return client
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		address, ok := parseIP(strings.TrimSpace(hop))
		if !ok {
			break // the last address that somebody trusted has seen
		}
		client = address
		if !within(client, trustedProxies) {
			break
		}
	}
	return client
}

// ByClient keys requests by client for a Limiter. Of an IPv6 address only the first 64 bits count,
// since everybody has a whole such network. Requests without an address share a key.
func ByClient(trustedProxies []netip.Prefix) func(*http.Request) string {
	return func(r *http.Request) string {
		client := ClientIP(r, trustedProxies)
		if !client.IsValid() {
			return "unknown"
		}
		return network(client)
	}
}

// network is what stands for a client: its address, of an IPv6 address the first 64 bits.
func network(client netip.Addr) string {
	if client.Is6() {
		return netip.PrefixFrom(client, 64).Masked().String()
	}
	return client.String()
}

// parseIP reads an address with or without a port. An IPv4 address in IPv6 is taken as itself, and
// a zone is left out.
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
