package bundle

import "github.com/gavel-relay/gavel/rpc/param"

// The schemas of frequent requests are prepared.
var (
	_ = param.Prepare[sendParams]()
	_ = param.Prepare[callParams]()
	_ = param.Prepare[cancelParams]()
	_ = param.Prepare[privateParams]()
	_ = param.Prepare[bundleParams]()
	_ = param.Prepare[elementParams]()
	_ = param.Prepare[simulationParams]()
)
