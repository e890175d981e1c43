package eth

// gasLimitBoundDivisor bounds the change of the gas limit from block to block (execution-specs,
// yellow paper 4.4.4).
const gasLimitBoundDivisor = 1024

// ExpectedGasLimit is the only gas limit that a block on the given parent may have when its
// proposer asked for target: as near to the target as one block's step allows.
func ExpectedGasLimit(parent, target uint64) uint64 {
	step := max(parent/gasLimitBoundDivisor, 1) - 1
	return min(max(target, parent-step), parent+step)
}
