//go:build !race

package app

import "math"

// mostSets is how many sets of hints hide each secret: all.
const mostSets = math.MaxInt32
