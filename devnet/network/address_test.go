package network

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

// An address is free, is not given twice, and is none that a system gives to who asks for any.
func TestFreeAddress(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		address, err := FreeAddress()
		if err != nil || seen[address] {
			t.Fatalf("%s, %v", address, err)
		}
		seen[address] = true
		_, port, _ := strings.Cut(address, ":")
		if n, err := strconv.Atoi(port); err != nil || n < firstPort || n >= firstPort+ports {
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
	lastPort.Add(^uint32(0)) // the same one again
	if address, err := FreeAddress(); err != nil || address == held.Addr().String() {
		t.Errorf("%s, %v", address, err)
	}
}
