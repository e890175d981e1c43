package serve

import (
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestClientIP(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, row := range []struct {
		name, remote string
		forwarded    []string
		want, key    string
	}{
		{"a direct client", "192.0.2.1:99", nil, "192.0.2.1", "192.0.2.1"},
		{"a stranger's header is his own word", "192.0.2.1:99", []string{"198.51.100.7"}, "192.0.2.1", "192.0.2.1"},
		{"a proxy's header", "10.0.0.1:99", []string{"198.51.100.7"}, "198.51.100.7", "198.51.100.7"},
		{"the client wrote the first", "10.0.0.1:99", []string{"203.0.113.9, 198.51.100.7"}, "198.51.100.7", "198.51.100.7"},
		{"the client wrote a header of its own", "10.0.0.1:99", []string{"203.0.113.9", "198.51.100.7"}, "198.51.100.7",
			"198.51.100.7"},
		{"two proxies", "10.0.0.1:99", []string{"198.51.100.7, 10.0.0.2"}, "198.51.100.7", "198.51.100.7"},
		{"proxies only", "10.0.0.1:99", []string{"10.0.0.3,10.0.0.2"}, "10.0.0.3", "10.0.0.3"},
		{"a proxy that says nothing", "10.0.0.1:99", nil, "10.0.0.1", "10.0.0.1"},
		{"nonsense ends the chain", "10.0.0.1:99", []string{"198.51.100.7, nonsense, 10.0.0.2"}, "10.0.0.2", "10.0.0.2"},
		{"with a port", "10.0.0.1:99", []string{"198.51.100.7:1234"}, "198.51.100.7", "198.51.100.7"},
		{"IPv6", "[2001:db8:1:2:3::4]:99", nil, "2001:db8:1:2:3::4", "2001:db8:1:2::/64"},
		{"IPv6, the same network", "[2001:db8:1:2:ffff::]:99", nil, "2001:db8:1:2:ffff::", "2001:db8:1:2::/64"},
		{"IPv6 through a proxy", "[fd00::1]:99", []string{"[2001:db8::7]:1"}, "2001:db8::7", "2001:db8::/64"},
		{"IPv4 in IPv6 is IPv4", "[::ffff:192.0.2.1]:99", nil, "192.0.2.1", "192.0.2.1"},
		{"a proxy's IPv4 in IPv6", "[::ffff:10.0.0.1]:99", []string{"::ffff:198.51.100.7"}, "198.51.100.7", "198.51.100.7"},
		{"a zone is this host's affair", "[fe80::1%eth0]:99", nil, "fe80::1", "fe80::/64"},
		{"a Unix socket", "@", []string{"198.51.100.7"}, "invalid IP", "unknown"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = row.remote
			for _, value := range row.forwarded {
				r.Header.Add("X-Forwarded-For", value)
			}
			if got := ClientIP(r, trusted).String(); got != row.want {
				t.Errorf("client %s, want %s", got, row.want)
			}
			if got := ByClient(trusted)(r); got != row.key {
				t.Errorf("key %s, want %s", got, row.key)
			}
		})
	}
}

func FuzzClientIP(f *testing.F) {
	f.Add("10.0.0.1:99", "198.51.100.7, 10.0.0.2")
	f.Add("[::1]:1", "::ffff:1.2.3.4%x,,")
	trusted := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	f.Fuzz(func(t *testing.T, remote, forwarded string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = remote
		r.Header.Set("X-Forwarded-For", forwarded)
		client := ClientIP(r, nil)
		if ClientIP(r, trusted).IsValid() != client.IsValid() {
			t.Error("a header makes or loses an address")
		}
		if key := ByClient(trusted)(r); key == "" || len(key) > 50 {
			t.Errorf("key %q", key)
		}
	})
}
