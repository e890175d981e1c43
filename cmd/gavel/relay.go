package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/internal/eth"
)

// relayEnv is the prefix of the environment variables that stand for flags: --data-dir is
// GAVEL_RELAY_DATA_DIR.
const relayEnv = "GAVEL_RELAY_"

// Secrets come from a file or from one of these variables, never from a flag, because everybody who
// can list processes sees flags.
const (
	secretKeyEnv  = relayEnv + "SECRET_KEY"
	adminTokenEnv = relayEnv + "ADMIN_TOKEN"
	builderKeyEnv = relayEnv + "GLOAS_BUILDER_KEY"
)

// relayCommand is the command that runs a relay. Start runs it until its context ends.
func relayCommand(start func(context.Context, relayConfig) error) *cli.Command {
	return &cli.Command{
		Name:   "relay",
		Usage:  "stand between block builders and proposers",
		Flags:  relayFlags(),
		Action: serviceAction(relayConfigOf, aboutRelay, start),
	}
}

func relayFlags() []cli.Flag {
	f := flags(relayEnv)
	return slices.Concat(f.relayPlaces(), f.journalFlags("archive"), f.escrowFlags(), f.relayAuction(),
		f.relayGloas(), f.relayLimits(), []cli.Flag{
			f.span("received-for", 0, "how long received blocks stay in the archive; 0 is for ever"),
		}, f.processFlags())
}

// relayPlaces are who the relay talks to, and where it keeps what.
func (f flags) relayPlaces() []cli.Flag {
	return []cli.Flag{
		f.text("network", eth.Custom, "network that the beacon nodes must be on: "+strings.Join(eth.NetworkNames(), ", ")+
			"; custom asks no question"),
		f.text("listen", ":9062", "host:port of the public API"),
		f.text("admin-listen", "127.0.0.1:9063", "host:port of metrics, health and the admin API; empty for none"),
		f.described("proposer-listen", "none",
			"host:port of a listener for proposers alone, "+
				"with connections and allowances that nobody at the public one can take"),
		f.described("beacon", "needed", "URLs of beacon nodes, with commas; all are followed and published to"),
		f.described("validation-node", "needed", "URLs of nodes that serve flashbots_validateBuilderSubmission, with commas"),
		f.described("secret-key-file", secretKeyEnv,
			"file with the BLS secret key that signs bids, in hex; without it the environment variable "+secretKeyEnv+
				" holds the key"),
		f.described("admin-token-file", adminTokenEnv, "file with the token of the admin API; without it "+adminTokenEnv+
			"; without both there is no admin API"),
		f.text("data-dir", "gavel-relay-data",
			"directory of journal, escrow, guard and archive; empty keeps all in memory, for tests only"),
		f.described("db", "SQLite in the data directory",
			"URL of the archive, such as postgres://user@host/gavel; better in the environment if it holds a password"),
		f.described("journal", "in this process",
			"URL of a NATS cluster with JetStream that keeps journal, escrow and guard"),
	}
}

// relayAuction are the rules of auctions and deliveries, and how long their steps may take.
func (f flags) relayAuction() []cli.Flag {
	return []cli.Flag{
		f.toggle("escrow-in-memory", "keep the escrow off the disk: safe in a cluster with replicas only"),
		f.described("builders-file", "none", "YAML list of builders that are treated in a way of their own"),
		f.described("webhook", "none",
			"URLs that alerts are sent to, with commas; better in the environment if they hold secrets"),
		f.span("header-cutoff", 3*time.Second, "how far into its slot a header is served; 0 is always"),
		f.span("header-delay", 0,
			"how far into its slot a header is held back for clients that say how long they wait; 0 is not at all"),
		f.span("payload-cutoff", 4*time.Second, "how far into its slot a signed block is taken; 0 is always"),
		f.span("reveal-delay", time.Second, "how long a payload is held back after its block was published (v1 only)"),
		f.span("header-payload-timeout", time.Second, "how long the payload of a header may take to follow"),
		f.span("validation-timeout", 3*time.Second, "how long the execution of a block may take"),
		f.number("validation-concurrency", 4, "blocks that one validation node executes at a time"),
		f.number("executors", 2, "blocks taken on trust that are executed at a time"),
		f.span("publish-timeout", 4*time.Second, "how long the publication of a block may take"),
		f.span("start-timeout", 30*time.Second, "how long to wait at start for a beacon node, and for the journal's cluster"),
		f.span("stale-after", 5*time.Minute, "how old the newest head may be before /readyz says so"),
		f.toggle("literal",
			"do what the interface description says: offer no bid before its block was executed, whoever is trusted; see "+
				"docs/differences.md"),
		f.toggle("record-refused",
			"write also into the journal what strangers sent in vain (submissions that changed nothing, signed blocks that "+
				"no validator signed): for devnets, since anybody can make it grow"),
		f.toggle("website", "serve pages for browsers at the public API: auctions, builders, proposers"),
		f.toggle("website-hide-losing", "show no values of bids that do not lead on the website while their auction runs"),
		f.toggle("no-cancellations", "refuse ?cancellations=1"),
	}
}

// relayGloas is the relay's staked builder, under whose key it bids from gloas on.
func (f flags) relayGloas() []cli.Flag {
	return []cli.Flag{
		f.described("gloas-builder-index", "none",
			"index of the relay's staked builder, which bids from gloas on"),
		f.described("gloas-builder-key-file", builderKeyEnv,
			"file with the BLS secret key of the staked builder, in hex; without it the environment variable "+builderKeyEnv+
				" holds the key"),
		f.described("gloas-auth-data", "needed with an index",
			"values by which proposers address the relay in requests for bids, with commas: the host of its URL, such as "+
				"relay.example.com"),
		f.number("gloas-value-share", 0, "percent of each bid that the staked builder pays from its stake, in addition to "+
			"what the block pays: the proposer has that part even if the payload is not revealed"),
		f.toggle("gloas-staked-bids", "take bids that other staked builders have signed themselves, from gloas on"),
	}
}

// relayLimits are what one client, and all together, may ask of the relay.
func (f flags) relayLimits() []cli.Flag {
	return []cli.Flag{
		f.number("requests-per-second", 200, "requests of one client address in a second; 0 is no bound"),
		f.number("burst", 400, "requests of one client address at once"),
		f.number("builder-requests-per-second", 500, "requests of one builder with an API key in a second; 0 is no bound"),
		f.number("builder-burst", 1000, "requests of one builder with an API key at once"),
		f.described("trusted-proxies", "none",
			"address ranges whose X-Forwarded-For is believed, with commas, such as 10.0.0.0/8"),
		f.number("max-connections", 8192, "connections that may be open; for a further one the longest idle one is closed"),
		f.number("max-connections-per-address", 1024,
			"connections of one address, or IPv6 network of 64 bits, unless it is a trusted proxy"),
		f.number("body-megabytes", 256,
			"memory for request bodies that are being read and worked on, at least 64: an eighth is for signed blocks only, "+
				"three eighths are for builders with an API key; of each an address, or a builder, has a quarter"),
		f.number("body-kilobytes-per-second", 64,
			"kilobytes of a request body that have to come in a second, after its first; 0 is no bound"),
		f.number("top-bid-listeners", 1000,
			"WebSocket listeners to the leading bids; a quarter of the places is for builders with an API key"),
		f.number("top-bid-listeners-per-client", 20, "such listeners of one address, or of one builder with an API key"),
		f.number("top-bid-queue", 256, "leading bids that such a listener may be behind before it is cut"),
		f.toggle("top-bid-needs-key", "let only builders with an API key listen to the leading bids"),
	}
}
