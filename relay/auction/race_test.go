//go:build race

package auction

// interleavings is how many sequences TestInterleavings plays: a tenth under the race detector,
// which is ten times as slow.
const interleavings = 100_000

// histories is how many histories TestBoardsOfOneLog plays.
const histories = 10_000
