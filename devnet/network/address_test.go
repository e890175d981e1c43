package network

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

// An address is free, is not given twice, and is none that a system gives to who asks for any.
func TestFreeAddress(t *testing.T) {
	seen, ephemeral := map[string]bool{}, ephemeralPorts()
	for range 100 {
		address, err := FreeAddress()
		if err != nil || seen[address] {
			t.Fatalf("%s, %v", address, err)
		}
		seen[address] = true
		_, port, _ := strings.Cut(address, ":")
		if n, err := strconv.Atoi(port); err != nil || n >= ephemeral.first && n <= ephemeral.last {
			t.Errorf("port %s", port)
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
	}
}

// A port that somebody has is passed over.
func TestFreeAddressInUse(t *testing.T) {
	held, err := Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	turns().next-- // the same one again
	if address, err := FreeAddress(); err != nil || address == held.Addr().String() {
		t.Errorf("%s, %v", address, err)
	}
}

// Services get none of the ports that a system gives to connections, wherever those begin, and none
// of the known ones of other programs.
func TestServicePorts(t *testing.T) {
	for _, c := range []struct{ ephemeral, want portRange }{
		{portRange{32_768, 60_999}, portRange{22_768, 32_767}},
		{portRange{16_000, 65_535}, portRange{10_000, 15_999}},
		{portRange{1_024, 60_999}, portRange{61_000, 65_535}},
		{portRange{11_000, 60_999}, portRange{61_000, 65_535}},
		{portRange{1_024, 65_535}, portRange{10_000, 19_999}},
	} {
		if got := servicePorts(c.ephemeral); got != c.want {
			t.Errorf("connections have %v: %v, want %v", c.ephemeral, got, c.want)
		}
	}
}
