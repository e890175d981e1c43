package generate

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/devnet/agent/user"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// Version is that of the generator: a change of what it draws or does makes other rows of the same
// seed, and so another version.
const Version = 1

const (
	genesisTime   = 1767225600 // 2026-01-01 00:00:00 UTC
	slotSeconds   = 12
	slotsPerEpoch = 32
	validators    = 64
	userWallets   = 25
	traderWallets = 40
	bundlers      = 8
	searchers     = 2
	// publicPerSlot and privatePerSlot are how many transactions users send in a slot. One private
	// one in cancelEvery is cancelled, and there is a blob in one slot of blobEvery.
	publicPerSlot, privatePerSlot, cancelEvery, blobEvery = 14, 5, 23, 9
)

// NetworkOf is the network of the data set of a seed. Each seed is a chain of its own.
func NetworkOf(seed uint64) dataset.Network {
	return dataset.Network{Name: fmt.Sprintf("generated-%d", seed), GenesisTime: genesisTime, SlotSeconds: slotSeconds}
}

// Config says what to generate.
type Config struct {
	Seed uint64
	// Slots is how many slots are played, from slot 1 on.
	Slots int
}

// world is all that is there, between two events.
type world struct {
	Config
	chance
	agenda
	now time.Time // true time; parties have clocks of their own

	spec      *eth.Spec
	node      *chain.Node
	validator *chain.Validator
	simulator *simulate.Simulator
	verdicts  map[verdictKey]exec.Verdict // of the blocks of the slot that runs

	head      head
	proposers []*proposer
	withdrawn uint64 // how many withdrawals the chain has
	auction   *slotAuction
	mempool   *mempool
	collector collector
	public    *user.User
	private   *user.Private
	builders  []*bidder
	relays    []*house
	orderflow *orderflow
	searchers []*seeker
	bundlers  []*ecdsa.PrivateKey
	rows      *Rows
}

// head is the newest block of the chain.
type head struct {
	slot  phase0.Slot
	block *types.Block
	root  phase0.Root // of the beacon block
	mix   [32]byte    // RANDAO
}

// open makes genesis and all parties.
func open(cfg Config) (*world, error) {
	w := &world{
		Config: cfg, chance: chance{seed: cfg.Seed}, spec: specOf(), verdicts: map[verdictKey]exec.Verdict{}, rows: new(Rows),
	}
	w.begin(0)
	w.now = w.spec.GenesisTime
	users, traders := wallets(cfg.Seed, "user", userWallets), wallets(cfg.Seed, "trader", traderWallets)
	funded := append(network.Addresses(users), network.Addresses(traders)...)
	for i := range lineup {
		funded = append(funded, network.Address(network.Wallet(cfg.Seed, "builder", i)))
	}
	seekers := wallets(cfg.Seed, "searcher", searchers*network.SearcherWallets)
	w.bundlers = wallets(cfg.Seed, "bundler", bundlers)
	funded = append(append(funded, network.Addresses(seekers)...), network.Addresses(w.bundlers)...)
	var err error
	if w.node, err = chain.Open(chain.Config{
		Spec: w.spec, ChainID: network.ChainID, GasLimit: network.GasLimit, Funded: funded,
		Accounts: chain.Genesis(network.Addresses(traders)),
	}); err != nil {
		return nil, fmt.Errorf("make the chain: %w", err)
	}
	mix := sha256.Sum256(binary.BigEndian.AppendUint64(nil, w.seed))
	w.head = head{block: w.node.Genesis(), root: w.rootOf(0), mix: mix}
	w.validator = chain.NewValidator(w.node.Chain(), chain.ValidatorOptions{Concurrency: 1})
	w.simulator = simulate.New(chain.NewStates(w.node.Chain()), simulate.Options{})
	w.mempool = &mempool{
		node: w.node, signer: signerOf(network.ChainID), queues: map[common.Address][]*types.Transaction{},
	}
	w.proposers = proposersOf(cfg.Seed)
	w.public = user.New(user.Config{Wallets: users, ChainID: network.ChainID, PerSlot: publicPerSlot, BlobEvery: blobEvery,
		Spec: w.spec, Seed: cfg.Seed})
	w.private = user.NewPrivate(user.PrivateConfig{Wallets: traders, ChainID: network.ChainID, PerSlot: privatePerSlot,
		CancelEvery: cancelEvery, Builders: []string{builderName(1), builderName(5)}, Spec: w.spec, Seed: cfg.Seed})
	w.relays = w.openHouses()
	w.builders = w.openBidders()
	w.list()
	w.searchers = w.openSeekers(seekers)
	if w.orderflow, err = w.openOrderflow(); err != nil {
		return nil, fmt.Errorf("open the bundle RPC: %w", err)
	}
	return w, nil
}

// specOf is the consensus layer's side of genesis.
func specOf() *eth.Spec {
	return &eth.Spec{
		GenesisTime: time.Unix(genesisTime, 0).UTC(), GenesisForkVersion: phase0.Version{1, 'g', 'e', 'n'},
		GenesisValidatorsRoot: sha256.Sum256([]byte("gavel: validators of a generated data set")),
		DepositChainID:        network.ChainID, SlotDuration: slotSeconds * time.Second, SlotsPerEpoch: slotsPerEpoch,
		Forks: []eth.ForkPoint{{Fork: eth.Fulu, Version: phase0.Version{byte(eth.Fulu) + 1, 'g', 'e', 'n'}}},
	}
}

// rootOf is the root of the beacon block of a slot.
func (w *world) rootOf(slot phase0.Slot) phase0.Root {
	text := binary.BigEndian.AppendUint64([]byte("beacon block "), w.seed)
	return sha256.Sum256(binary.BigEndian.AppendUint64(text, uint64(slot)))
}

// attributesOf are what a block for a slot on the head must have.
func (w *world) attributesOf(slot phase0.Slot) eth.PayloadAttributes {
	return eth.PayloadAttributes{
		Slot: slot, ParentHash: phase0.Hash32(w.head.block.Hash()), ParentNumber: w.head.block.NumberU64(),
		ParentRoot: w.head.root, Timestamp: w.spec.Timestamp(slot), PrevRandao: w.head.mix, Withdrawals: w.withdrawals(),
	}
}

// withdrawalsPerBlock is how many validators get a withdrawal in each block.
const withdrawalsPerBlock = 2

// withdrawals are those of the next block. Validators take turns.
func (w *world) withdrawals() []*capella.Withdrawal {
	list := make([]*capella.Withdrawal, withdrawalsPerBlock)
	for i := range list {
		index := w.withdrawn + uint64(i)
		list[i] = &capella.Withdrawal{
			Index: capella.WithdrawalIndex(index), ValidatorIndex: phase0.ValidatorIndex(index % validators),
			Address: w.proposers[index%validators].payee, Amount: phase0.Gwei(1_000_000 + index%7),
		}
	}
	return list
}

// run plays all slots, and calls done with the number of each slot that is over.
func (w *world) run(ctx context.Context, done func(slot int) error) error {
	w.announce(ctx, 1)
	w.planFlow(ctx, 0)
	for slot := 1; slot <= w.Slots; slot++ {
		w.planFlow(ctx, phase0.Slot(slot))
		over := w.spec.SlotStart(phase0.Slot(slot)).Add(slotSeconds * time.Second / 2)
		for {
			e, ok := w.next(over)
			if !ok {
				break
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if e.at.Before(w.now) {
				return fmt.Errorf("slot %d: %w: from %v to %v", slot, errBack, w.now, e.at)
			}
			w.now = e.at
			if err := e.do(); err != nil {
				return fmt.Errorf("slot %d, %v into it: %w", slot, w.now.Sub(w.spec.SlotStart(phase0.Slot(slot))), err)
			}
		}
		w.now = over
		if err := done(slot); err != nil {
			return err
		}
	}
	return nil
}

var errBack = errors.New("an event is put on the agenda too late: time would go back")

// after puts something on the agenda.
func (w *world) after(d time.Duration, do func() error) { w.add(w.now.Add(d), do) }

// draw draws a time of somebody.
func (w *world) draw(who string, s span) time.Duration { return micros(w.of(who), s.from, s.to) }

// nonce returns the next nonce of an account after the head.
func (w *world) nonce(account common.Address) (uint64, error) {
	header := w.head.block.Header()
	state, err := w.node.Chain().StateAt(header.Root, header.Number, header.Time)
	if err != nil {
		return 0, fmt.Errorf("read a nonce: %w", err)
	}
	return state.GetNonce(account), nil
}

// skewOf draws how much the clock of somebody is wrong.
func skewOf(seed uint64, who string, most time.Duration) time.Duration {
	return micros(drawsOf(seed, 0, "clock of "+who), -most, most)
}

// payeeOf is the fee recipient of a validator.
func payeeOf(seed uint64, index int) bellatrix.ExecutionAddress {
	return bellatrix.ExecutionAddress(network.Address(network.Wallet(seed, "validator", index)))
}
