//go:build race

package api

// memoryBody is short under the race detector, which makes reading a body ten times slower.
// `make test` measures whole bodies without it.
const memoryBody = 64 << 10
