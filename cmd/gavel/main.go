// Command gavel runs the services of the auction house: each service is one of its commands.
package main

import (
	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/internal/run"
)

func main() { run.OS(root()) }

func root() *cli.Command {
	return &cli.Command{
		Name:  "gavel",
		Usage: "an auction house for Ethereum block building",
		Commands: []*cli.Command{
			relayCommand(serveRelay), rpcCommand(serveRPC), streamCommand(serveStream), monitorCommand(serveMonitor),
			journalCommand(), signCommand(), versionCommand(),
		},
	}
}
