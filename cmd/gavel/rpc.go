package main

import (
	"context"
	"slices"
	"time"

	"github.com/urfave/cli/v3"
)

// rpcEnv is the prefix of the environment variables that stand for flags: --data-dir is
// GAVEL_RPC_DATA_DIR.
const rpcEnv = "GAVEL_RPC_"

// rpcKeyEnv holds the key that signs requests to builders, if there is no file.
const rpcKeyEnv = rpcEnv + "SECRET_KEY"

// rpcCommand is the command that runs a bundle RPC. Start runs it until its context ends.
func rpcCommand(start func(context.Context, rpcConfig) error) *cli.Command {
	return &cli.Command{
		Name:   "rpc",
		Usage:  "take signed bundles and private transactions, simulate them, and hand them to block builders",
		Flags:  rpcFlags(),
		Action: serviceAction(rpcConfigOf, aboutRPC, start),
	}
}

func rpcFlags() []cli.Flag {
	f := flags(rpcEnv)
	return slices.Concat(f.rpcPlaces(), f.journalFlags("ledger"), f.rpcOrders(), f.rpcDialect(), f.rpcLimits(), []cli.Flag{
		f.span("stale-after", 5*time.Minute, "how old the newest block may be before /readyz says so"),
	}, f.processFlags())
}

// rpcPlaces are who the RPC talks to, and where it keeps what.
func (f flags) rpcPlaces() []cli.Flag {
	return []cli.Flag{
		f.text("listen", ":9072", "host:port of the JSON-RPC"),
		f.text("admin-listen", "127.0.0.1:9073", "host:port of metrics and health; empty for none"),
		f.described("execution-rpc", "needed",
			"URLs of execution nodes, with commas; any that serves eth_getProof or eth_getBalance will do"),
		f.described("chain-file", "asked of the node",
			"genesis file (JSON) of a network that the node does not describe by eth_config"),
		f.described("secret-key-file", rpcKeyEnv,
			"file with the secp256k1 key that signs requests to builders, in hex; without it the environment variable "+
				rpcKeyEnv+" holds the key"),
		f.described("builders-file", "none", "YAML list of builders that orders are sent to"),
		f.text("data-dir", "gavel-rpc-data", "directory of journal and ledger; empty keeps all in memory, for tests only"),
		f.described("db", "SQLite in the data directory",
			"URL of the ledger, such as postgres://user@host/gavel; better in the environment if it holds a password"),
		f.described("journal", "in this process", "URL of a NATS cluster with JetStream that keeps the journal"),
		f.span("start-timeout", 30*time.Second,
			"how long to wait at start for an execution node, and for the journal's cluster"),
	}
}

// rpcOrders are how long orders live, and what refunds come to.
func (f flags) rpcOrders() []cli.Flag {
	return []cli.Flag{
		f.described("journal-listen", "none",
			"loopback host:port at which gavel stream, on this machine, may read a journal in this process"),
		f.span("orders-for", 0, "how long the ledger remembers orders that have ended; 0 is for ever"),
		f.span("block-time", 12*time.Second, "how long after a block the next one is expected"),
		f.number("private-blocks", 25, "for how many blocks a private transaction is tried"),
		f.number("max-backruns", 1, "how many transactions may follow a hash; 0 is no bound"),
		f.number("refund-percent", 90, "percentage of a backrun's value that comes back by default"),
		f.number("fast-percent", 50, "the same with preferences.fast"),
		f.number("payout-gas", 0, "gas that a refund's payout costs, taken from the refund at the base fee"),
		f.described("payers", "none", "addresses that pay refunds beside each block's fee recipient, with commas"),
		f.described("earliest-refund-block", "20802497 on mainnet, 0 elsewhere",
			"first block whose refunds are listed one by one"),
		f.span("refund-details-delay", 0, "how old a block must be before its refunds are listed"),
		f.number("refunds-per-page", 500, "refunds that an answer lists at most"),
		f.span("refund-totals-every", 0, "how often totals of refunds are computed; 0 is always"),
	}
}

// rpcDialect are names and forms in which deployed services and the description differ.
func (f flags) rpcDialect() []cli.Flag {
	return []cli.Flag{
		f.text("vendor-prefix", "vendor_", "neutral word for flashbots_ in names of methods"),
		f.text("pool-prefix", "pool_", "neutral word for buildernet_ in names of methods"),
		f.text("signature-headers", "X-Flashbots-Signature,X-Vendor-Signature,X-BuilderNet-Signature",
			"headers that may hold a request's signature, with commas; with the first one requests to builders are signed"),
		f.toggle("lenient-signatures", "take signatures without 0x"),
		f.toggle("literal",
			"do what the interface description says where deployed services do something else: see docs/differences.md"),
		f.toggle("legacy-errors", "answer errors as {\"error\":\"text\"} with a status, as services did before 2024"),
	}
}

// rpcLimits are what one client, one signer, and all together may ask of the RPC.
func (f flags) rpcLimits() []cli.Flag {
	return []cli.Flag{
		f.described("simulations", "one for each processor", "bundles that are simulated at a time"),
		f.number("requests-per-second", 10_000, "requests of one client address in a second; 0 is no bound"),
		f.number("signer-requests-per-second", 10_000, "requests of one signer in a second; 0 is no bound"),
		f.described("method-limits", "none",
			"requests of one client address in a second for single methods, with commas, such as eth_callBundle=5"),
		f.number("batch", 100, "requests that may come at once"),
		f.number("max-orders", 200_000, "orders that may live at a time"),
		f.number("max-orders-per-signer", 20_000, "orders of one signer that may live at a time"),
		f.described("trusted-proxies", "none",
			"address ranges whose X-Forwarded-For is believed, with commas, such as 10.0.0.0/8"),
		f.number("max-connections", 8192, "connections that may be open; for a further one the longest idle one is closed"),
		f.number("max-connections-per-address", 1024,
			"connections of one address, or IPv6 network of 64 bits, unless it is a trusted proxy"),
		f.number("body-megabytes", 256,
			"memory for request bodies that are being read and worked on, at least 64; an address has a quarter of it"),
		f.number("body-kilobytes-per-second", 64,
			"kilobytes of a request body that have to come in a second, after its first; 0 is no bound"),
	}
}
