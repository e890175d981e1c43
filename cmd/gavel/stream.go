package main

import (
	"context"
	"slices"
	"time"

	"github.com/urfave/cli/v3"
)

// streamEnv is the prefix of the environment variables that stand for flags: --data-dir is
// GAVEL_STREAM_DATA_DIR.
const streamEnv = "GAVEL_STREAM_"

// streamCommand is the command that runs an event stream. Start runs it until its context ends.
func streamCommand(start func(context.Context, streamConfig) error) *cli.Command {
	return &cli.Command{
		Name:   "stream",
		Usage:  "tell searchers what senders share of their pending orders, as events and as history",
		Flags:  streamFlags(),
		Action: serviceAction(streamConfigOf, aboutStream, start),
	}
}

func streamFlags() []cli.Flag {
	f := flags(streamEnv)
	return slices.Concat(f.accessFlags(), []cli.Flag{
		f.text("listen", ":9074", "host:port of the stream and its history"),
		f.text("admin-listen", "127.0.0.1:9075", "host:port of metrics and health; empty for none"),
		f.described("journal", "in this process",
			"URL of the journal that the bundle RPC writes: a NATS cluster with JetStream, or a process with "+
				"--journal-listen. It is only read"),
		f.described("journal-listen", "none",
			"loopback host:port at which other processes of this machine may write to a journal in this process"),
		f.span("start-timeout", 30*time.Second, "how long to wait at start for the journal's cluster"),
		f.moved(),
		f.text("data-dir", "gavel-stream-data",
			"directory of the history, and of the journal if it is in this process; empty keeps all in memory, for tests only"),
		f.described("db", "SQLite in the data directory",
			"URL of the history, such as postgres://user@host/gavel; better in the environment if it holds a password"),
		f.number("keep-blocks", 0, "for how many blocks the history keeps events; 0 is for ever"),
		f.span("keep-for", 0, "how long the history keeps events; 0 is for ever"),
		f.number("max-limit", 500, "events that a page of the history has at most; there are clients that rely on 500"),
		f.described("swaps", "the five documented kinds",
			"further kinds of pools whose swaps default_logs shows, with commas: NAME=TOPIC, or NAME=TOPIC+pool where the "+
				"second topic is the pool"),
		f.toggle("literal",
			"events have all members of the interface description, also gasUsed and gasLimit: see docs/differences.md"),
		f.toggle("hide-mev-gas-price", "leave mevGasPrice out of events"),
		f.toggle("share-gas-used", "put gasUsed into events"),
		f.toggle("gas-limit", "repeat a transaction's gas under the name gasLimit"),
		f.text("cors-origin", "*", "whose pages may read, as Access-Control-Allow-Origin says it"),
		f.described("network", "none", "name of the network, for the page that shows the stream"),
		f.span("ping", 15*time.Second, "how long a connection is silent before a ping"),
		f.number("max-listeners", 10_000, "listeners that may be connected; others are told 503"),
		f.number("max-listeners-per-address", 100, "listeners of one address, or IPv6 network of 64 bits"),
		f.number("requests-per-second", 200, "requests of one client address in a second; 0 is no bound"),
		f.number("burst", 400, "requests of one client address at once"),
		f.number("queue-kilobytes", 4096, "how far a listener may be behind before it is cut"),
		f.number("max-event-bytes", 0,
			"longest event that is streamed, in bytes of JSON; longer ones are only in the history. 0 is no bound"),
		f.described("max-connections", "max-listeners and 1024 more",
			"connections that may be open; for a further one the longest idle one is closed"),
		f.number("max-connections-per-address", 1024,
			"connections of one address, or IPv6 network of 64 bits, unless it is a trusted proxy"),
		f.described("trusted-proxies", "none",
			"address ranges whose X-Forwarded-For is believed, with commas, such as 10.0.0.0/8"),
	}, f.processFlags())
}
