package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/conformance/mutant"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/devnet/agent/builder"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay/client"
)

// OwnBuilder is what --builder says for gavel's own builder, and RunningBuilder for one that runs
// already.
const (
	OwnBuilder     = "gavel"
	RunningBuilder = "running"
)

// builderStart bounds how long a builder may take until it asks a relay for anything.
const builderStart = 30 * time.Second

// BuilderSource says in which world a builder bids.
type BuilderSource struct {
	// World is the target's world if it is in this process. Our own builder needs it.
	World *world.World
	// Clock is the time of world and builder; nil means the wall clock.
	Clock clock.Clock
	// Listen is where the first relay listens; empty for free ports.
	Listen string
	// Patience bounds how long the builder may take until it asks a relay for anything; 0 means
	// builderStart.
	Patience time.Duration
	// Mutant is the id of a mutant that is put between the builder and each relay; empty for none.
	Mutant string
	// Log receives what a command writes.
	Log io.Writer
}

// OpenBuilder opens the scripted relays for a target that is a builder, and starts the builder if
// the target has a command or is our own. It returns when the builder has asked a relay for
// anything; one that does not within its patience is an UnusableError. The auctions are nil for a
// target that is no builder. End is never nil.
//
// The words for a command, in braces:
//
//	relays               the relays' URLs with their public keys, with commas between; relayA, relayB, relayC
//	apiKeyA              the API key for relay a, if the builder sends any; apiKeyB, apiKeyC
//	beacon               URL of the beacon node
//	execution            URL of the execution node's JSON-RPC
//	validation           URL of a node with flashbots_validateBuilderSubmission
//	blsKey               the secret key that signs bids
//	walletKey            the secret key of an account with money, which may be coinbase and pay proposers
//	chainId, genesisForkVersion, genesisValidatorsRoot, genesisTime, slotSeconds, slotsPerEpoch, fork
func OpenBuilder(ctx context.Context, t *target.Target, s BuilderSource) (a *scripted.Auctions, end func(), err error) {
	end = func() {}
	if t.Builder == nil {
		return nil, end, nil
	}
	if t.Chain.WorldURL == "" {
		return nil, end, Mistake("a builder that runs already needs the world that it follows: give --world")
	}
	if s.Clock == nil {
		s.Clock = clock.Real{}
	}
	if s.Patience == 0 {
		s.Patience = builderStart
	}
	around, err := world.Dial(ctx, t.Chain.WorldURL)
	if err != nil {
		return nil, end, Mistake("chain.worldUrl: %v", err)
	}
	if a, err = scripted.OpenAuctions(ctx, around, s.Clock, s.Listen); err != nil {
		return nil, end, fmt.Errorf("open the relays of the builder: %w", err)
	}
	stop, err := startBuilder(ctx, t.Builder, a, s)
	if err != nil {
		return nil, end, errors.Join(err, a.Close())
	}
	return a, func() {
		if err := errors.Join(stop(), a.Close()); err != nil {
			fmt.Fprintln(s.Log, err)
		}
	}, nil
}

// BeforeRelays says whether a mutant is put between a builder and its relays.
func BeforeRelays(id string) bool {
	m, found := mutant.Find(id)
	return found && m.Iface == "builder"
}

// startBuilder starts the builder, with a mutant between it and the relays if there is one.
func startBuilder(ctx context.Context, b *target.Builder, a *scripted.Auctions, s BuilderSource) (
	stop func() error, err error) {
	urls, withdraw, err := putBeforeRelays(a, s.Mutant)
	if err != nil {
		return nil, err
	}
	end := func() error { return nil }
	var ended <-chan struct{}
	switch {
	case b.Own:
		end, err = runOwnBuilder(ctx, a, urls, s.World)
	case b.Command != "":
		end, ended, err = runCommand(ctx, b.Command, a, urls, s.Log)
	}
	if err == nil {
		if err = waitContact(ctx, a, s.Patience, ended); err != nil {
			err = errors.Join(err, end())
		}
	}
	if err != nil {
		what := "start the builder"
		if b.Running {
			what = fmt.Sprintf("wait for a builder that follows the world at %s and bids at the relays %s",
				a.World.Facts.BeaconURL, strings.Join(urls, " "))
		}
		return nil, errors.Join(UnusableError{fmt.Errorf("%s: %w", what, err)}, withdraw())
	}
	return func() error { return errors.Join(end(), withdraw()) }, nil
}

// waitContact waits until a relay has been asked for anything, as long as patience says. Ended is
// closed when the builder ends.
func waitContact(ctx context.Context, a *scripted.Auctions, patience time.Duration, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	heard := func() bool {
		for _, relay := range a.All {
			for _, endpoint := range []scripted.Endpoint{scripted.Duties, scripted.Submit, scripted.Status, scripted.Other} {
				if len(relay.Heard(endpoint, nil)) > 0 {
					return true
				}
			}
		}
		return false
	}
	for !heard() {
		timer := time.NewTimer(20 * time.Millisecond)
		select {
		case <-ended:
			timer.Stop()
			return errEnded
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("it asks no relay for anything within %v: %w", patience, ctx.Err())
		case <-timer.C:
		}
	}
	return nil
}

// putBeforeRelays puts a mutant before each relay. It returns the addresses that the builder gets.
func putBeforeRelays(a *scripted.Auctions, id string) (urls []string, withdraw func() error, err error) {
	if id == "" {
		return a.URLs(), func() error { return nil }, nil
	}
	m, found := mutant.Find(id)
	if !found || m.Iface != "builder" {
		return nil, nil, Mistake("there is no mutant %s of builders: see gavel-lab conformance prove --list", id)
	}
	secret := scripted.BuilderSecret()
	key, err := probe.ParseBLSKey(secret[:])
	if err != nil {
		return nil, nil, fmt.Errorf("read the builder's key: %w", err)
	}
	var servers []*http.Server
	withdraw = func() error {
		var failures []error
		for _, server := range servers {
			failures = append(failures, server.Close())
		}
		return errors.Join(failures...)
	}
	for i, address := range a.URLs() {
		listener, err := serve.Listen("127.0.0.1:0")
		if err != nil {
			return nil, nil, errors.Join(err, withdraw())
		}
		bare := "http://" + address[strings.LastIndex(address, "@")+1:]
		server := &http.Server{Handler: m.Before(bare, mutant.Builder{
			Key: key, Domain: a.Network.BuilderDomain(), Fork: a.Fork, Last: i == len(a.All)-1,
			Root: func(slot phase0.Slot, parent phase0.Hash32) phase0.Root {
				at, _ := a.AttributesOn(slot, parent)
				return at.ParentRoot
			},
		}),
			ReadHeaderTimeout: 10 * time.Second}
		servers, urls = append(servers, server), append(urls, "http://"+listener.Addr().String())
		go func() { _ = server.Serve(listener) }() // withdraw ends it
	}
	return urls, withdraw, nil
}

// runOwnBuilder runs gavel's own builder on the world's chain. It shows what specs are about: bids
// that rise and, in every other slot, one that is lowered.
func runOwnBuilder(ctx context.Context, a *scripted.Auctions, urls []string, in *world.World) (
	stop func() error, err error) {
	if in == nil {
		return nil, Mistake("our own builder needs a world in this process: leave --world out")
	}
	account, err := a.World.Account(ctx)
	if err != nil {
		return nil, err
	}
	wallet, err := crypto.HexToECDSA(strings.TrimPrefix(account.SecretKey, "0x"))
	if err != nil {
		return nil, fmt.Errorf("read the key of an account: %w", err)
	}
	secret := scripted.BuilderSecret()
	key, err := bls.NewSecretKey(secret[:])
	if err != nil {
		return nil, fmt.Errorf("read the builder's key: %w", err)
	}
	var relays []builder.Relay
	for i, address := range urls {
		c, err := client.New(address, client.Options{APIKey: apiKey(i)})
		if err != nil {
			return nil, err
		}
		relays = append(relays, builder.Relay{Name: scripted.Names[i], Client: c})
	}
	b := builder.New(builder.Config{
		Name: "gavel", Key: key, Wallet: wallet, Node: in.Chain(), Spec: in.Spec(), Clock: a.Clock,
		Signer:    types.LatestSignerForChainID(new(big.Int).SetUint64(a.World.Facts.ChainID)),
		BeaconURL: a.World.Facts.BeaconURL,
		Relays:    relays, Numbered: true,
		Strategy: alternating{builder.Usual{}, builder.TakingBack{Strategy: builder.Usual{},
			At: new(-in.Spec().SlotDuration / 8)}},
	})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}, nil
}

// alternating has one strategy in even slots and another in odd ones.
type alternating [2]builder.Strategy

// Decide implements builder.Strategy.
func (a alternating) Decide(at builder.Situation) builder.Decision { return a[at.Slot%2].Decide(at) }

// apiKey is the API key for a relay.
func apiKey(index int) string { return "gavel-conformance-key-" + scripted.Names[index] }

// runCommand starts a builder by its command.
func runCommand(ctx context.Context, text string, a *scripted.Auctions, urls []string, log io.Writer) (
	stop func() error, ended <-chan struct{}, err error) {
	account, err := a.World.Account(ctx)
	if err != nil {
		return nil, nil, err
	}
	f, secret := a.World.Facts, scripted.BuilderSecret()
	all := map[string]string{
		"relays": strings.Join(urls, ","), "beacon": f.BeaconURL, "execution": f.ExecutionURL, "validation": f.ValidationURL,
		"blsKey": fmt.Sprintf("%#x", secret), "walletKey": account.SecretKey, "chainId": strconv.FormatUint(f.ChainID, 10),
		"genesisForkVersion": f.GenesisForkVersion, "genesisValidatorsRoot": f.GenesisValidatorsRoot,
		"genesisTime": strconv.FormatInt(f.GenesisTime, 10), "slotSeconds": strconv.FormatInt(f.SlotMs/1000, 10),
		"slotsPerEpoch": strconv.FormatUint(f.SlotsPerEpoch, 10), "fork": f.Fork,
	}
	for i, name := range scripted.Names {
		all["relay"+strings.ToUpper(name)], all["apiKey"+strings.ToUpper(name)] = urls[i], apiKey(i)
	}
	command, err := fillWords(text, all)
	if err != nil {
		return nil, nil, err
	}
	running, err := startProgram(command, log)
	if err != nil {
		return nil, nil, err
	}
	return running.stop, running.ended, nil
}
