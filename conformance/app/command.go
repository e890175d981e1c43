package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
)

// relayStart bounds how long a relay may take until it is ready, and slotsToStart how long in
// slots: some learn the validators only when they have seen an epoch.
const (
	relayStart   = time.Minute
	slotsToStart = 40
)

// openCommand starts a world, and in it a relay by its command. The relay must be ready in
// time: /readyz answers, and not with 5xx. What it writes goes to the notes. End stops the
// relay and then the world; an error of their end changes no verdict, and is only noted.
//
// The words for the command, in braces:
//
//	listen        host:port at which the relay must listen; port is its port alone
//	beaconUrl     the world's beacon node, which also tells the network's parameters
//	validationUrl the node that validates blocks, by flashbots_validateBuilderSubmissionV3 and V4
//	executionUrl  the world's execution node
//	slotSeconds, slotsPerEpoch, genesisTime, genesisForkVersion, genesisValidatorsRoot
//	builderIndex, builderKey: of the world's staked builder, if the world has slots of gloas
func openCommand(ctx context.Context, s Source) (t *target.Target, end func(), err error) {
	w, err := world.New(s.World)
	if err != nil {
		return nil, func() {}, fmt.Errorf("open the world: %w", err)
	}
	worldCtx, stopWorld := context.WithCancel(context.WithoutCancel(ctx)) // it ends after the relay
	ended := make(chan error, 1)
	go func() { ended <- w.Run(worldCtx) }()
	closeWorld := func() error {
		stopWorld()
		return errors.Join(<-ended, w.Close())
	}
	address, stop, err := startServer(ctx, s.Target.Relay.Command, worldWords(w.Facts), "/readyz",
		max(relayStart, w.Facts.Slots(slotsToStart)), s.Notes)
	if err != nil {
		return nil, func() {}, UnusableError{errors.Join(fmt.Errorf("start the relay: %w", err), closeWorld())}
	}
	return s.Target.Started(address, w.URL), func() {
		if err := errors.Join(stop(), closeWorld()); err != nil {
			fmt.Fprintln(s.Notes, err)
		}
	}, nil
}

// worldWords returns the words for a relay's command.
func worldWords(f world.Facts) map[string]string {
	words := map[string]string{
		"beaconUrl": f.BeaconURL, "validationUrl": f.ValidationURL, "executionUrl": f.ExecutionURL,
		"slotSeconds": strconv.FormatInt(f.SlotMs/1000, 10), "slotsPerEpoch": strconv.FormatUint(f.SlotsPerEpoch, 10),
		"genesisTime": strconv.FormatInt(f.GenesisTime, 10), "genesisForkVersion": f.GenesisForkVersion,
		"genesisValidatorsRoot": f.GenesisValidatorsRoot,
	}
	if f.Staked != nil {
		words["builderIndex"], words["builderKey"] = strconv.FormatUint(uint64(f.Staked.Index), 10), f.Staked.SecretKey
	}
	return words
}
