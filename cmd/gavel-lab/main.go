// Command gavel-lab is the laboratory: it runs whole networks around gavel and judges what comes of
// them.
package main

import (
	"github.com/gavel-relay/gavel/devnet/app"
	"github.com/gavel-relay/gavel/internal/run/command"
)

func main() { command.OS(root(app.Run)) }
