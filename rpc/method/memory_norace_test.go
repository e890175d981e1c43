//go:build !race

package method

// memoryBody is the length of the bodies whose memory is measured, in bytes.
const memoryBody = 512 << 10
