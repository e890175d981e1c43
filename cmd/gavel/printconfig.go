package main

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/internal/run"
)

// effectiveConfig writes the settings in force as a configuration file, whatever their source
// (flag, file, environment). It leaves secrets out: passwords in URLs, and all but scheme and host
// of webhooks. About comes first: comments that show the public part of keys and other settings
// that are not flags.
func effectiveConfig(cmd *cli.Command, about string) string {
	return settings(cmd, about, redacted)
}

// settings is effectiveConfig with another way to write URLs.
func settings(cmd *cli.Command, about string, written func(address string) string) string {
	var b strings.Builder
	b.WriteString(about)
	for _, flag := range run.Flags(cmd) {
		if flag.Name == "config" || flag.Name == "print-config" {
			continue
		}
		value := fmt.Sprint(cmd.Value(flag.Name))
		switch flag.Name {
		case "db", "journal", "beacon", "beacon-nodes", "relays", "validation-node", "execution-rpc", "trace-endpoint":
			value = each(value, written)
		case "webhook":
			value = each(value, hostOnly)
		}
		fmt.Fprintf(&b, "%s: %s\n", flag.Name, quoted(value))
	}
	return b.String()
}

// aboutRelay describes in comments what no flag of the relay shows.
func aboutRelay(cfg relayConfig) string {
	key := cfg.relay.Key.PublicKey()
	return fmt.Sprintf("# public key: %#x\n# admin API: %s\n# builders: %d\n", key[:], onOff(cfg.relay.AdminToken != ""),
		len(cfg.relay.Builders))
}

// aboutRPC describes in comments what no flag of the bundle RPC shows.
func aboutRPC(cfg rpcConfig) string {
	return fmt.Sprintf("# address: %s\n# builders: %d\n", crypto.PubkeyToAddress(cfg.rpc.Key.PublicKey),
		len(cfg.rpc.Builders))
}

// aboutStream describes in comments what no flag of the event stream shows.
func aboutStream(cfg streamConfig) string {
	return fmt.Sprintf("# swaps that default_logs lets through: %d\n", len(cfg.stream.Hints.Swaps))
}

// aboutMonitor describes in comments what no flag of the monitor shows.
func aboutMonitor(cfg monitorConfig) string {
	return fmt.Sprintf("# relays: %s\n", strings.Join(cfg.monitor.Names, ", "))
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// quoted puts a value in quotes if YAML would not read it back as the same text without them.
func quoted(value string) string {
	if value == "" || strings.ContainsAny(value, ": #,[]{}\"'*&!|>%@`") {
		return fmt.Sprintf("%q", value)
	}
	return value
}

// each changes every item of a list with commas.
func each(text string, change func(string) string) string {
	items := listOf(text)
	for i, item := range items {
		items[i] = change(item)
	}
	return strings.Join(items, ",")
}

func redacted(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return "(hidden)"
	}
	return parsed.Redacted()
}

// withoutKeys is for pages: it also hides the user, path and query of an address, which hold the
// keys of hosted nodes.
func withoutKeys(address string) string {
	parsed, err := url.Parse(address)
	if err == nil && parsed.Scheme == "sqlite" {
		return address // a file
	}
	if err != nil || parsed.Host == "" {
		return "(hidden)"
	}
	if parsed.User == nil && strings.Trim(parsed.Path, "/") == "" && parsed.RawQuery == "" && parsed.Fragment == "" {
		return address
	}
	return hostOnly(address)
}

func hostOnly(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return "(hidden)"
	}
	return parsed.Scheme + "://" + parsed.Host + "/(hidden)"
}
