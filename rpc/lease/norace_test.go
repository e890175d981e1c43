//go:build !race

package lease

// histories is how many histories TestModelNeverHasTwoOwners plays.
const histories = 100_000
