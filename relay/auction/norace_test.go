//go:build !race

package auction

// interleavings is how many sequences TestInterleavings plays.
const interleavings = 1_000_000

// histories is how many histories TestBoardsOfOneLog plays.
const histories = 100_000
