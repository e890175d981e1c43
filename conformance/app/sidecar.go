package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/devnet/agent/proposer"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
)

// OwnSidecar is what --sidecar says for gavel's own sidecar.
const OwnSidecar = "gavel"

// minBidWei is the lowest bid of a sidecar that the run starts: 0.01 ETH.
var minBidWei = uint256.NewInt(1e16)

// sidecarStart bounds how long a sidecar may take until it answers.
const sidecarStart = 30 * time.Second

// OpenSidecar opens the scripted relays for a target that is a sidecar, and starts the sidecar if
// the target has a command or is our own. Its address is then in the target. Listen is where the
// first relay listens; empty for free ports. What a command writes goes to the log. End is never
// nil.
//
// The words for a command, in braces:
//
//	listen             host:port at which the sidecar must listen; port is its port alone
//	relays             the relays' URLs with their public keys, with commas between; relayA, relayB, relayC
//	genesisForkVersion the network's genesis fork version
//	genesisTime        the network's genesis, in seconds since 1970
//	slotSeconds        how long a slot lasts
//	minBidEth          the lowest bid to hand on, in ETH; minBidWei in wei
func OpenSidecar(ctx context.Context, t *target.Target, network scripted.Network, listen string,
	log io.Writer) (relays *scripted.Relays, end func(), err error) {
	end = func() {}
	if t.Sidecar == nil {
		return nil, end, nil
	}
	if relays, err = scripted.Open(scripted.Config{Network: network, Listen: listen}); err != nil {
		return nil, end, fmt.Errorf("open the relays of the sidecar: %w", err)
	}
	stop := func() error { return nil }
	opened := *t.Sidecar
	t.Sidecar = &opened
	switch {
	case opened.Own:
		stop, err = serveOwn(ctx, &opened, relays)
	case opened.Command != "":
		stop, err = startCommand(ctx, &opened, relays, log)
	}
	if err != nil {
		return nil, end, UnusableError{errors.Join(fmt.Errorf("start the sidecar: %w", err), relays.Close())}
	}
	return relays, func() {
		if err := errors.Join(stop(), relays.Close()); err != nil {
			fmt.Fprintln(log, err)
		}
	}, nil
}

// serveOwn serves gavel's own sidecar in this process.
func serveOwn(ctx context.Context, s *target.Sidecar, relays *scripted.Relays) (stop func() error, err error) {
	n := relays.Network
	handler, err := proposer.NewSidecar(proposer.SidecarConfig{Relays: relays.URLs(), MinBidWei: minBidWei,
		Spec: &eth.Spec{
			GenesisTime: n.GenesisTime, GenesisForkVersion: n.GenesisForkVersion, SlotDuration: n.Slot, SlotsPerEpoch: 32,
			Forks: []eth.ForkPoint{{Fork: n.Fork}},
		}})
	if err != nil {
		return nil, err
	}
	listener, err := serve.Listen("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() { _ = server.Serve(listener) }() // stop ends it
	s.URL, s.MinBidWei = "http://"+listener.Addr().String(), minBidWei.Dec()
	return server.Close, nil
}

// startCommand starts a sidecar by its command and waits until it answers.
func startCommand(ctx context.Context, s *target.Sidecar, relays *scripted.Relays,
	log io.Writer) (stop func() error, err error) {
	if usesWord(s.Command, "minBidEth") || usesWord(s.Command, "minBidWei") {
		s.MinBidWei = minBidWei.Dec()
	}
	s.URL, stop, err = startServer(ctx, s.Command, words(relays), "/eth/v1/builder/status",
		sidecarStart, log)
	return stop, err
}

// words returns the words for a sidecar's command.
func words(relays *scripted.Relays) map[string]string {
	n := relays.Network
	all := map[string]string{
		"relays":             strings.Join(relays.URLs(), ","),
		"genesisForkVersion": fmt.Sprintf("%#x", n.GenesisForkVersion[:]),
		"genesisTime":        strconv.FormatInt(n.GenesisTime.Unix(), 10),
		"slotSeconds":        strconv.FormatFloat(n.Slot.Seconds(), 'f', -1, 64),
		"minBidWei":          minBidWei.Dec(),
		"minBidEth":          new(big.Rat).SetFrac(minBidWei.ToBig(), big.NewInt(1e18)).FloatString(4),
	}
	for _, relay := range relays.All {
		all["relay"+strings.ToUpper(relay.Name)] = relay.URL()
	}
	return all
}
