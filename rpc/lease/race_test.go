//go:build race

package lease

// histories is how many histories TestModelNeverHasTwoOwners plays: fewer under the race detector,
// which finds nothing in a model without goroutines.
const histories = 2_000
