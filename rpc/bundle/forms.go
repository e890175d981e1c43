package bundle

// The schemas of frequent requests are prepared.
var (
	_ = Prepare[sendParams]()
	_ = Prepare[callParams]()
	_ = Prepare[cancelParams]()
	_ = Prepare[privateParams]()
	_ = Prepare[bundleParams]()
	_ = Prepare[elementParams]()
	_ = Prepare[simulationParams]()
)
