package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/display"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/exec/node"
	relayapp "github.com/gavel-relay/gavel/relay/app"
	"github.com/gavel-relay/gavel/relay/client"
)

// A relay that knows nothing but the devnet's URLs joins it: the builders' bids, the proposers'
// registrations and signed blocks come to it, and it lists what it has delivered.
func TestAnotherRelayJoins(t *testing.T) {
	t.Parallel()
	addresses, ports := make([]string, 3), make([]int, 3) // beacon node, validation node, relay
	for i := range addresses {
		address, err := network.FreeAddress()
		if err != nil {
			t.Fatal(err)
		}
		addresses[i], ports[i] = address, int(netip.MustParseAddrPort(address).Port())
	}
	key := bls.Derive("another relay", 1)
	public := key.PublicKey()
	cfg := devnet.Config{
		Slots: 12, SlotDuration: 2 * time.Second, Speed: 1, Validators: 8, Builders: 1, TxsPerSlot: 4,
		SlotsPerEpoch: 4, Seed: 3,
		BeaconPort: ports[0], ValidationPort: ports[1],
		Relays: []string{fmt.Sprintf("http://%#x@%s", public[:], addresses[2])},
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	other := make(chan error, 1)
	go func() { other <- joinAs(ctx, key, addresses) }()
	delivered := 0
	seen := &watched{}
	seen.onSlot = func(_ display.Slot) {
		c, err := client.New("http://"+addresses[2], client.Options{})
		if err != nil {
			t.Error(err)
			return
		}
		if list, err := c.Delivered(ctx, nil); err == nil {
			delivered = len(list)
		}
	}
	sum, err := Run(ctx, cfg, nil, seen)
	if err != nil {
		t.Fatal(err)
	}
	if !sum.OK() || delivered == 0 {
		t.Errorf("%s; the other relay lists %d deliveries", sum.Verdict(), delivered)
	}
	cancel()
	if err := <-other; err != nil {
		t.Error(err)
	}
}

// joinAs runs a relay as a stranger does: beacon node and validation node by URL, the wall's clock.
func joinAs(ctx context.Context, key *bls.SecretKey, addresses []string) error {
	pool, err := node.New(node.Config{URLs: []string{"http://" + addresses[1]}})
	if err != nil {
		return err
	}
	relay, err := relayapp.New(ctx, relayapp.Config{
		BeaconURLs: []string{"http://" + addresses[0]}, Key: key, Clock: clock.Real{}, Validator: pool,
		StartTimeout: time.Minute, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addresses[2])
	if err != nil {
		return err
	}
	err = relay.Serve(ctx, listener)
	if closed := relay.Close(); err == nil {
		err = closed
	}
	return err
}
