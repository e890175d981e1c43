package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/rpc/app"
	"github.com/gavel-relay/gavel/rpc/send"
)

// rpcConfig holds all settings of the command. The field rpc has no chain and no log yet: serveRPC
// opens them.
type rpcConfig struct {
	rpc                 app.Config
	listen, adminListen string
	executionURLs       []string
	chainFile           string
	// earliestBlock is nil if the network decides.
	earliestBlock *uint64
	log           run.LogOptions
}

// rpcConfigOf reads the flags, and secrets from files or the environment. Errors are the caller's
// mistakes.
func rpcConfigOf(cmd *cli.Command, getenv func(string) string) (rpcConfig, error) {
	cfg := rpcConfig{
		listen: cmd.String("listen"), adminListen: cmd.String("admin-listen"),
		executionURLs: listOf(cmd.String("execution-rpc")),
		chainFile:     cmd.String("chain-file"), log: run.LogOptions{Level: cmd.String("log-level"),
			Format: cmd.String("log-format")},
		rpc: app.Config{
			DataDir: cmd.String("data-dir"), Database: cmd.String("db"), BlockTime: cmd.Duration("block-time"),
			PrivateBlocks: cmd.Int("private-blocks"),
			OrdersFor:     cmd.Duration("orders-for"),
			MaxBackruns:   unbounded(cmd.Int("max-backruns")), RefundPercent: cmd.Int("refund-percent"),
			FastPercent: cmd.Int("fast-percent"),
			PayoutGas:   uint64(cmd.Int("payout-gas")), DetailsDelay: cmd.Duration("refund-details-delay"),
			TotalsEvery: cmd.Duration("refund-totals-every"), VendorPrefix: cmd.String("vendor-prefix"),
			PoolPrefix:       cmd.String("pool-prefix"),
			SignatureHeaders: listOf(cmd.String("signature-headers")), LenientSignatures: cmd.Bool("lenient-signatures"),
			Literal: cmd.Bool("literal"), LegacyErrors: cmd.Bool("legacy-errors"), TraceEndpoint: cmd.String("trace-endpoint"),
			Region:     cmd.String("region"),
			StaleAfter: cmd.Duration("stale-after"),
			Limits: app.Limits{
				PerSecond:       unbounded(cmd.Int("requests-per-second")),
				SignerPerSecond: unbounded(cmd.Int("signer-requests-per-second")),
				Batch:           cmd.Int("batch"), Orders: cmd.Int("max-orders"), OrdersPerSigner: cmd.Int("max-orders-per-signer"),
				RefundsPerPage:     cmd.Int("refunds-per-page"),
				BodyBytes:          int64(cmd.Int("body-megabytes")) << 20,
				BodyBytesPerSecond: int64(unbounded(cmd.Int("body-kilobytes-per-second"))) * 1000,
				Connections:        cmd.Int("max-connections"), ConnectionsPerAddress: cmd.Int("max-connections-per-address"),
				Linger: cmd.Duration("linger"),
			},
		},
	}
	if err := readJournal(cmd, &cfg.rpc.Journal); err != nil {
		return cfg, err
	}
	cfg.rpc.Journal.StartTimeout = cmd.Duration("start-timeout")
	cfg.rpc.Journal.Listen = cmd.String("journal-listen")
	for _, read := range []func(*cli.Command, func(string) string) error{
		checkBounds, cfg.readKey, cfg.readBuilders, cfg.readPayers, cfg.readNumbers, cfg.readProxies,
	} {
		if err := read(cmd, getenv); err != nil {
			return cfg, err
		}
	}
	return cfg, cfg.check()
}

// bounds are the least and the greatest values of numbers.
var bounds = []struct {
	flag        string
	least, most int
}{
	{"private-blocks", 1, 64}, {"max-backruns", 0, math.MaxInt}, {"refund-percent", 1, 100}, {"fast-percent", 1, 100},
	{"payout-gas", 0, 30_000_000}, {"requests-per-second", 0, math.MaxInt}, {"signer-requests-per-second", 0, math.MaxInt},
	{"batch", 1, math.MaxInt},
	{"max-orders", 1, math.MaxInt}, {"refunds-per-page", 1, 10_000}, {"max-orders-per-signer", 1, math.MaxInt},
	{"max-connections", 1, math.MaxInt},
	{"body-megabytes", 64, 1 << 20}, {"body-kilobytes-per-second", 0, 1 << 20},
	{"max-connections-per-address", 1, math.MaxInt},
}

// shortest are the least values of durations.
var shortest = []struct {
	flag  string
	least time.Duration
}{
	{"block-time", time.Second}, {"stale-after", time.Second}, {"start-timeout", 0}, {"orders-for", 0},
	{"refund-details-delay", 0},
	{"refund-totals-every", 0}, {"linger", 0},
}

// checkBounds returns an error for the first number or duration that is out of bounds.
func checkBounds(cmd *cli.Command, _ func(string) string) error {
	for _, bound := range bounds {
		switch value := cmd.Int(bound.flag); {
		case value < bound.least && bound.most == math.MaxInt:
			return fmt.Errorf("%s is %d: give %d or more", bound.flag, value, bound.least)
		case value < bound.least || value > bound.most:
			return fmt.Errorf("%s is %d: give %d to %d", bound.flag, value, bound.least, bound.most)
		}
	}
	for _, bound := range shortest {
		if value := cmd.Duration(bound.flag); value < bound.least {
			return fmt.Errorf("%s is %s: give %s or more", bound.flag, value, bound.least)
		}
	}
	return nil
}

func (c *rpcConfig) readKey(cmd *cli.Command, getenv func(string) string) (err error) {
	c.rpc.Key, err = requestKey("secret-key-file", cmd.String("secret-key-file"), rpcKeyEnv, getenv)
	return err
}

func (c *rpcConfig) readBuilders(cmd *cli.Command, _ func(string) string) (err error) {
	c.rpc.Builders, err = listIn("builders-file", cmd.String("builders-file"), send.Parse)
	return err
}

func (c *rpcConfig) readPayers(cmd *cli.Command, _ func(string) string) error {
	for _, item := range listOf(cmd.String("payers")) {
		if !common.IsHexAddress(item) {
			return fmt.Errorf("payers has %q: give addresses of 20 bytes in hex", item)
		}
		c.rpc.Payers = append(c.rpc.Payers, common.HexToAddress(item))
	}
	return nil
}

// readNumbers reads the flags whose numbers are written as text: those whose default is no number,
// and those with pairs of a name and a number.
func (c *rpcConfig) readNumbers(cmd *cli.Command, _ func(string) string) error {
	if text := cmd.String("earliest-refund-block"); text != "" {
		block, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return fmt.Errorf("earliest-refund-block is %q: give a block's number", text)
		}
		c.earliestBlock = &block
	}
	if text := cmd.String("simulations"); text != "" {
		count, err := strconv.Atoi(text)
		if err != nil || count < 1 {
			return fmt.Errorf("simulations is %q: give a number above 0", text)
		}
		c.rpc.Simulations = count
	}
	for _, item := range listOf(cmd.String("method-limits")) {
		name, text, _ := strings.Cut(item, "=")
		perSecond, err := strconv.Atoi(text)
		if err != nil || perSecond < 1 {
			return fmt.Errorf("method-limits has %q: give METHOD=NUMBER", item)
		}
		if c.rpc.Limits.MethodPerSecond == nil {
			c.rpc.Limits.MethodPerSecond = map[string]int{}
		}
		c.rpc.Limits.MethodPerSecond[name] = perSecond
	}
	return nil
}

func (c *rpcConfig) readProxies(cmd *cli.Command, _ func(string) string) (err error) {
	c.rpc.Limits.TrustedProxies, err = prefixes(cmd.String("trusted-proxies"))
	return err
}

// check returns an error for a setting that is missing or contradicts another. The error names the
// flag.
func (c *rpcConfig) check() error {
	switch {
	case c.listen == "":
		return errors.New("listen is empty: give host:port")
	case len(c.executionURLs) == 0:
		return errors.New("execution-rpc is empty: give the URL of an execution node, or of several with commas")
	case c.rpc.Journal.URL != "" && c.rpc.Journal.Listen != "":
		return errors.New("journal-listen is for a journal in this process: leave out journal, or journal-listen")
	case len(c.rpc.SignatureHeaders) == 0:
		return errors.New("signature-headers is empty: give at least one name")
	}
	_, err := run.NewLogger(nil, c.log)
	return err
}
