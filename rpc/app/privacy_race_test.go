//go:build race

package app

// mostSets is how many sets of hints hide each secret under the race detector, under which all take
// two minutes. `make test` tries all without it.
const mostSets = 4
