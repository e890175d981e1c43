package eth

// gasLimitBoundDivisor bounds the change of the gas limit from block to block (execution-specs,
// yellow paper 4.4.4).
const gasLimitBoundDivisor = 1024

// ExpectedGasLimit returns the only gas limit that a block may have, given its parent's and the
// target that its proposer asked for: as near to the target as one block may come.
func ExpectedGasLimit(parent, target uint64) uint64 {
	step := max(parent/gasLimitBoundDivisor, 1) - 1
	return min(max(target, parent-step), parent+step)
}
