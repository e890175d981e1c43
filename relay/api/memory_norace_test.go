//go:build !race

package api

// memoryBody is the length of the bodies whose memory is measured, in bytes.
const memoryBody = 1 << 20
