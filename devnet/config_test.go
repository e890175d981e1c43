package devnet

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

func TestValidateFillsDefaults(t *testing.T) {
	c := Config{Slots: 3}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Slots, want.Fork = 3, eth.Fulu
	want.OrdersPerSlot, want.Searchers, want.CircuitBreaker = 0, 0, 0 // there are none unless somebody asks for them
	want.Forks = []eth.ForkPoint{{Fork: eth.Fulu, Version: phase0.Version{6, 'g', 'v', 'l'}}}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
	if err := c.Validate(); err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("the second time: %v, %+v", err, c)
	}
	if c.WallSlot() != time.Second {
		t.Errorf("a slot takes %v", c.WallSlot())
	}
}

// Check judges one field at a time, in words that can be acted on.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Slots = -1 }, "slots is -1: give a number from 0 to 1073741824"},
		{func(c *Config) { c.OrdersPerSlot = 201 }, "orders is 201: give a number from 0 to 200"},
		{func(c *Config) { c.Searchers = -1 }, "searchers is -1: give a number from 0 to 16"},
		{func(c *Config) {
			c.BundlePort, c.StreamPort = 7, 7
		}, "bundle-port and stream-port are both 7: give each its own, or 0 for any free one"},
		{func(c *Config) { c.Validators = 0 }, "validators is 0: give a number from 1 to 65536"},
		{func(c *Config) { c.Builders = 65 }, "builders is 65: give a number from 1 to 64"},
		{func(c *Config) { c.StakedBuilder = true },
			"staked-builder bids from gloas on: give --fork gloas, or --forks with gloas in it"},
		{func(c *Config) { c.TxsPerSlot = 0 }, "txs is 0: give a number from 1 to 2000"},
		{func(c *Config) { c.CircuitBreaker = -1 }, "circuit-breaker is -1: give a number from 0 to 1000"},
		{func(c *Config) { c.SlotsPerEpoch = 1 }, "slots-per-epoch is 1: give a number from 2 to 256"},
		{func(c *Config) { c.RPCPort = 70_000 }, "rpc-port is 70000: give a number from 0 to 65535"},
		{
			func(c *Config) { c.RelayPort, c.RPCPort = 8545, 8545 },
			"relay-port and rpc-port are both 8545: give each its own, or 0 for any free one",
		},
		{
			func(c *Config) { c.SlotDuration = 1500 * time.Millisecond },
			"slot is 1.5s: give whole seconds from 1s to 1h, since block timestamps count seconds",
		},
		{func(c *Config) {
			c.SlotDuration = 0
		}, "slot is 0s: give whole seconds from 1s to 1h, since block timestamps count seconds"},
		{func(c *Config) { c.Speed = -1 }, "speed is -1: give a number from 0.01 to 10000; 1 runs like the wall clock"},
		{func(c *Config) {
			c.Speed = math.NaN()
		}, "speed is NaN: give a number from 0.01 to 10000; 1 runs like the wall clock"},
		{
			func(c *Config) { c.Speed = 600 },
			"slot 12s at speed 600 leaves only 20ms a slot: give a speed of at most 120, or longer slots",
		},
		{func(c *Config) { c.Fork = 99 },
			"fork fork(99) is unknown: give one of bellatrix, capella, deneb, electra, fulu, gloas"},
		{
			func(c *Config) { c.Fork, c.Forks = eth.Deneb, []eth.ForkPoint{{Fork: eth.Electra}} },
			"fork is deneb, but forks begins with electra@0: leave one of them out",
		},
		{
			func(c *Config) { c.Forks = []eth.ForkPoint{{Fork: eth.Fulu, Epoch: 2}} },
			"forks begins at epoch 2: name the fork at genesis too, as in fork bellatrix, or bellatrix@0 in front",
		},
		{
			func(c *Config) { c.Forks = []eth.ForkPoint{{Fork: eth.Fulu}, {Fork: eth.Electra, Epoch: 2}} },
			"forks has electra@2 after fulu@0: give later forks at later epochs",
		},
		{
			func(c *Config) {
				c.Fork, c.Forks = eth.Deneb, []eth.ForkPoint{{Fork: eth.Electra, Epoch: 2}, {Fork: eth.Fulu, Epoch: 2}}
			},
			"forks has fulu@2 after electra@2: give later forks at later epochs",
		},
	} {
		config := Default()
		c.change(&config)
		if err := config.Check(); err == nil || err.Error() != c.want {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
}

// A schedule names the fork at genesis itself, or fork does; either way it is complete afterwards.
func TestForks(t *testing.T) {
	version := func(first byte) phase0.Version { return phase0.Version{first, 'g', 'v', 'l'} }
	want := []eth.ForkPoint{{Fork: eth.Electra, Version: version(5)}, {Fork: eth.Fulu, Epoch: 2, Version: version(6)}}
	for _, c := range []struct {
		fork  eth.Fork
		forks string
	}{{0, "electra@0,fulu@2"}, {0, " Electra@0 , fulu@2 "}, {eth.Electra, "fulu@2"}, {eth.Electra, "electra@0,fulu@2"}} {
		forks, err := ParseForks(c.forks)
		if err != nil {
			t.Fatal(err)
		}
		config := Config{Fork: c.fork, Forks: forks}
		if err := config.Validate(); err != nil || config.Fork != eth.Electra || !reflect.DeepEqual(config.Forks, want) {
			t.Errorf("%v %q: %v, %v", c.fork, c.forks, err, config.Forks)
		}
	}
	for text, want := range map[string]string{
		"electra":            `forks has "electra": give fork@epoch, as in electra@0,fulu@2`,
		"electra@0,":         `forks has "": give fork@epoch, as in electra@0,fulu@2`,
		"electra@-1":         `forks has epoch "-1": give fork@epoch, as in electra@0,fulu@2`,
		"electra@9999999999": `forks has epoch "9999999999": give fork@epoch, as in electra@0,fulu@2`,
		"prague@0":           `forks: fork "prague" is unknown: give one of bellatrix, capella, deneb, electra, fulu, gloas`,
	} {
		if _, err := ParseForks(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}
