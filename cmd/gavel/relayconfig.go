package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/relay/app"
	"github.com/gavel-relay/gavel/relay/registry"
)

// relayConfig holds all settings of the command. The field relay has no validator and no log yet:
// serveRelay opens them.
type relayConfig struct {
	relay                 app.Config
	listen, adminListen   string
	proposerListen        string
	validationNodes       []string
	validationConcurrency int
	log                   run.LogOptions
	settings              string // all of it without secrets, for the operator's page
}

// relayConfigOf reads the flags, and secrets from files or the environment. Errors are the caller's
// mistakes.
func relayConfigOf(cmd *cli.Command, getenv func(string) string) (relayConfig, error) {
	cfg := relayConfig{
		listen: cmd.String("listen"), adminListen: cmd.String("admin-listen"), proposerListen: cmd.String("proposer-listen"),
		validationNodes:       listOf(cmd.String("validation-node")),
		validationConcurrency: cmd.Int("validation-concurrency"),
		log:                   run.LogOptions{Level: cmd.String("log-level"), Format: cmd.String("log-format")},
		relay: app.Config{
			Network: cmd.String("network"), BeaconURLs: listOf(cmd.String("beacon")), DataDir: cmd.String("data-dir"),
			Database: cmd.String("db"),
			Webhooks: listOf(cmd.String("webhook")), HeaderCutOff: always(cmd.Duration("header-cutoff")),
			HeaderDelay:   cmd.Duration("header-delay"),
			PayloadCutOff: always(cmd.Duration("payload-cutoff")), RevealDelay: always(cmd.Duration("reveal-delay")),
			HeaderPayloadTimeout: cmd.Duration("header-payload-timeout"), ValidationTimeout: cmd.Duration("validation-timeout"),
			Executors: cmd.Int("executors"), PublishTimeout: cmd.Duration("publish-timeout"),
			StartTimeout:    cmd.Duration("start-timeout"),
			StaleAfter:      cmd.Duration("stale-after"),
			TopBidListeners: cmd.Int("top-bid-listeners"), TopBidListenersPerClient: cmd.Int("top-bid-listeners-per-client"),
			TopBidQueue: cmd.Int("top-bid-queue"), TopBidsNeedKey: cmd.Bool("top-bid-needs-key"),
			RecordRefused: cmd.Bool("record-refused"), Literal: cmd.Bool("literal"),
			Website: cmd.Bool("website"), WebsiteHideLosing: cmd.Bool("website-hide-losing"),
			NoCancellations: cmd.Bool("no-cancellations"), TraceEndpoint: cmd.String("trace-endpoint"),
			Region:      cmd.String("region"),
			ReceivedFor: cmd.Duration("received-for"),
			Limits: app.Limits{
				PerSecond: unbounded(cmd.Int("requests-per-second")), Burst: cmd.Int("burst"),
				BuilderPerSecond: unbounded(cmd.Int("builder-requests-per-second")), BuilderBurst: cmd.Int("builder-burst"),
				BodyBytes:          int64(cmd.Int("body-megabytes")) << 20,
				BodyBytesPerSecond: int64(unbounded(cmd.Int("body-kilobytes-per-second"))) * 1000,
				Connections:        cmd.Int("max-connections"), ConnectionsPerAddress: cmd.Int("max-connections-per-address"),
				Linger: cmd.Duration("linger"),
			},
		},
	}
	err := readJournal(cmd, &cfg.relay.Journal)
	if err != nil {
		return cfg, err
	}
	cfg.relay.Journal.EscrowInMemory = cmd.Bool("escrow-in-memory")
	if cfg.relay.Key, err = readSecretKey(cmd.String("secret-key-file"), getenv); err != nil {
		return cfg, err
	}
	if cfg.relay.Gloas, err = readStakedBuilder(cmd, getenv); err != nil {
		return cfg, err
	}
	if cfg.relay.AdminToken, err = adminToken(cmd.String("admin-token-file"), getenv); err != nil {
		return cfg, err
	}
	if cfg.relay.Builders, err = listIn("builders-file", cmd.String("builders-file"), registry.ParseBuilders); err != nil {
		return cfg, err
	}
	if cfg.relay.Limits.TrustedProxies, err = prefixes(cmd.String("trusted-proxies")); err != nil {
		return cfg, err
	}
	cfg.settings = settings(cmd, aboutRelay(cfg), withoutKeys)
	return cfg, cfg.check()
}

// check returns an error for a setting that is missing or makes no sense. The error names the flag.
func (c *relayConfig) check() error {
	switch {
	case c.listen == "":
		return errors.New("listen is empty: give host:port")
	case len(c.relay.BeaconURLs) == 0:
		return errors.New("beacon is empty: give the URL of a beacon node, or of several with commas")
	case len(c.validationNodes) == 0:
		return errors.New("validation-node is empty: give the URL of a node that serves flashbots_validateBuilderSubmission")
	case !slices.Contains(eth.NetworkNames(), c.relay.Network):
		return fmt.Errorf("network is %q: give one of %s", c.relay.Network, strings.Join(eth.NetworkNames(), ", "))
	case c.relay.Journal.EscrowInMemory && c.relay.Journal.URL == "":
		return errors.New("escrow-in-memory would lose every payload that was sold when this process ends: leave it out, " +
			"or keep the journal in a cluster (journal)")
	case c.relay.StaleAfter < time.Second:
		return fmt.Errorf("stale-after is %s: give 1s or more", c.relay.StaleAfter)
	case c.relay.Limits.ConnectionsPerAddress < 1:
		return fmt.Errorf("max-connections-per-address is %d: give 1 or more", c.relay.Limits.ConnectionsPerAddress)
	case c.relay.TopBidListenersPerClient < 1:
		return fmt.Errorf("top-bid-listeners-per-client is %d: give 1 or more", c.relay.TopBidListenersPerClient)
	case c.relay.TopBidQueue < 0:
		return fmt.Errorf("top-bid-queue is %d: give a number of bids", c.relay.TopBidQueue)
	}
	_, err := run.NewLogger(nil, c.log)
	return err
}

// listOf splits a list at its commas, and leaves out empty items.
func listOf(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// always translates a duration from a flag to a configuration. In a flag 0 means off; in a
// configuration 0 means the default, and a negative duration means off.
func always(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// unbounded translates a number of 0 as always does a duration.
func unbounded(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// readSecretKey reads the key that the relay signs its bids with.
func readSecretKey(path string, getenv func(string) string) (*bls.SecretKey, error) {
	return keyIn("secret-key-file", path, secretKeyEnv, getenv)
}

// keyIn reads a BLS key from the file of a flag, or from an environment variable.
func keyIn(flag, path, variable string, getenv func(string) string) (*bls.SecretKey, error) {
	text, err := readSecret(path, variable, getenv)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	if text == "" {
		return nil, fmt.Errorf("there is no secret key: give --%s, or set %s", flag, variable)
	}
	raw, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil {
		return nil, errors.New("the secret key is not hexadecimal: want 32 bytes") // the error would show a part of it
	}
	return bls.NewSecretKey(raw)
}

// readStakedBuilder reads the builder that bids for the relay from gloas on; nil if there is none.
func readStakedBuilder(cmd *cli.Command, getenv func(string) string) (*app.Gloas, error) {
	data := listOf(cmd.String("gloas-auth-data"))
	if cmd.String("gloas-builder-index") == "" {
		switch {
		case cmd.String("gloas-builder-key-file") != "" || len(data) > 0 || cmd.Int("gloas-value-share") != 0:
			return nil, errors.New("gloas-builder-index is empty: give the index of the relay's staked builder, or leave out " +
				"its key, auth data and share")
		case cmd.Bool("gloas-staked-bids"):
			return nil, errors.New("gloas-builder-index is empty: bids of staked builders are taken beside those of the " +
				"relay's own builder")
		}
		return nil, nil
	}
	index, err := eth.ParseDecimal(cmd.String("gloas-builder-index"), 64)
	if err != nil || gloas.BuilderIndex(index) == gloas.SelfBuild {
		return nil, fmt.Errorf("gloas-builder-index is %q: give the number of a builder", cmd.String("gloas-builder-index"))
	}
	if len(data) == 0 {
		return nil, errors.New("gloas-auth-data is empty: give the host of the relay's URL")
	}
	share := cmd.Int("gloas-value-share")
	if share < 0 || share > 100 {
		return nil, fmt.Errorf("gloas-value-share is %d: give a percentage, 0 to 100", share)
	}
	staked := &app.Gloas{
		Index: gloas.BuilderIndex(index), SharePercent: uint64(share), StakedBids: cmd.Bool("gloas-staked-bids"),
	}
	for _, value := range data {
		staked.AuthData = append(staked.AuthData, []byte(value))
	}
	staked.Key, err = keyIn("gloas-builder-key-file", cmd.String("gloas-builder-key-file"), builderKeyEnv, getenv)
	return staked, err
}

// leastToken is the smallest length of a token, in characters: a shorter one can be guessed.
const leastToken = 16

func adminToken(path string, getenv func(string) string) (string, error) {
	token, err := readSecret(path, adminTokenEnv, getenv)
	switch {
	case err != nil:
		return "", fmt.Errorf("admin-token-file: %w", err)
	case token != "" && len(token) < leastToken:
		return "", fmt.Errorf("the admin token is too short: give at least %d characters", leastToken)
	}
	return token, nil
}

// readSecret reads a secret from a file, or from an environment variable if no file is given. It is
// empty if there is neither.
func readSecret(path, variable string, getenv func(string) string) (string, error) {
	if path == "" {
		return strings.TrimSpace(getenv(variable)), nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(text)), nil
}

func prefixes(text string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, item := range listOf(text) {
		prefix, err := netip.ParsePrefix(item)
		if err != nil {
			return nil, fmt.Errorf("trusted-proxies has %q: give ranges such as 10.0.0.0/8", item)
		}
		list = append(list, prefix)
	}
	return list, nil
}
