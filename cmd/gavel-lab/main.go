// Command gavel-lab runs whole networks around gavel (devnet, scenarios) and judges services
// (conformance).
package main

import (
	"github.com/gavel-relay/gavel/devnet/app"
	"github.com/gavel-relay/gavel/internal/run"
)

func main() { run.OS(root(app.Run)) }
