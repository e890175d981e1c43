package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
)

// ServeWorld runs a world until the context ends, with gavel's own services in it if that is asked
// for. It prints what a target and target.yaml need to know about it.
func ServeWorld(ctx context.Context, of world.Config, withServices bool, out, notes io.Writer) error {
	if withServices {
		opened, end, err := Open(ctx, Source{Local: true, World: of, Notes: notes})
		if err != nil {
			return err
		}
		defer end()
		t := opened.Target
		c, err := world.Dial(ctx, t.Chain.WorldURL)
		if err != nil {
			return err
		}
		printWorld(out, c.Facts, t.Chain.WorldURL, t)
		<-ctx.Done()
		return nil
	}
	w, err := world.New(of)
	if err != nil {
		return err
	}
	printWorld(out, w.Facts, w.URL, nil)
	return errors.Join(w.Run(ctx), w.Close())
}

// printWorld prints what a target must know about its world, and the services in it if there are
// some. A target that names its relay by key and host has both.
func printWorld(out io.Writer, f world.Facts, address string, services *target.Target) {
	line := func(name string, value any) { fmt.Fprintf(out, "%-24s %v\n", name, value) }
	line("beacon node", f.BeaconURL)
	line("execution node", f.ExecutionURL)
	line("validation node", f.ValidationURL)
	for _, b := range f.Builders {
		line("builder "+b.Name, b.URL)
	}
	line("chain id", f.ChainID)
	line("genesis time", fmt.Sprintf("%d (%s)", f.GenesisTime, time.Unix(f.GenesisTime, 0).UTC().Format(time.RFC3339)))
	line("genesis fork version", f.GenesisForkVersion)
	line("genesis validators root", f.GenesisValidatorsRoot)
	line(f.Fork+" fork version", f.ForkVersion)
	if f.NextFork != "" {
		line(f.NextFork+" fork version", fmt.Sprintf("%s, from slot %d on", f.NextForkVersion, f.NextForkSlot))
	}
	if f.Staked != nil {
		line("staked builder", fmt.Sprintf("index %d, secret key %s", f.Staked.Index, f.Staked.SecretKey))
		line("auth data", "the host of the relay's URL, unless target.yaml says another (relay.authData)")
	}
	line("slots", fmt.Sprintf("%d s, %d to an epoch", f.SlotMs/1000, f.SlotsPerEpoch))
	line("validators", len(f.ValidatorKeys))
	if services != nil {
		relay := services.Relay
		line("relay", relay.ProposerURL)
		line("relay with its key", strings.Replace(relay.ProposerURL, "://", "://"+relay.PublicKey+"@", 1))
		line("stream", services.Stream.URL)
		line("rpc", services.RPC.URL)
		line("world", address)
	}
	fmt.Fprintf(out,
		"\nin target.yaml:\nchain: {worldUrl: %s}\nrpc: {url: …, sendsToWorld: true}   # for a bundle RPC that "+
			"sends to these builders\n", address)
}
