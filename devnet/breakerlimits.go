package devnet

// MaxAllowedMissingSlots is after how many missed slots in a row a circuit breaker opens by
// default.
const MaxAllowedMissingSlots = 5

// BreakerLimits are the conditions of a consensus client's circuit breaker. A breaker opens if
// MissedInRow slots in a row, or MissedOf of the last Window slots, had no block, whoever their
// proposers were. A condition of zero never holds. Clients differ in their conditions.
type BreakerLimits struct {
	MissedInRow, MissedOf, Window int
}

// DefaultBreakerLimits returns the limits of a client without configuration.
func DefaultBreakerLimits() BreakerLimits { return BreakerLimits{MissedInRow: MaxAllowedMissingSlots} }

// Off says whether the breaker can never open.
func (l BreakerLimits) Off() bool { return l.MissedInRow == 0 && l.MissedOf == 0 }
