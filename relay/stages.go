package relay

import (
	"iter"
	"slices"
	"time"
)

// StagesUs is how long the stages of a request took, in microseconds of the machine's clock,
// rounded up. 0 is a stage that the request did not pass, or that was not measured. Names are those
// of gavel_stage_seconds.
type StagesUs struct {
	Receive   int64 `json:"receive,omitempty"`
	Decode    int64 `json:"decode,omitempty"`
	Check     int64 `json:"check,omitempty"`
	Simulate  int64 `json:"simulate,omitempty"`
	Eligible  int64 `json:"eligible,omitempty"`
	Signature int64 `json:"signature,omitempty"`
	Escrow    int64 `json:"escrow,omitempty"`
	Guard     int64 `json:"guard,omitempty"`
	Publish   int64 `json:"publish,omitempty"`
}

// stageNames are in the order in which stages run.
var stageNames = []string{
	"receive", "decode", "check", "simulate", "eligible", "signature", "escrow", "guard", "publish",
}

// of is a stage's field, nil for a name that is none.
func (s *StagesUs) of(name string) *int64 {
	switch name {
	case "receive":
		return &s.Receive
	case "decode":
		return &s.Decode
	case "check":
		return &s.Check
	case "simulate":
		return &s.Simulate
	case "eligible":
		return &s.Eligible
	case "signature":
		return &s.Signature
	case "escrow":
		return &s.Escrow
	case "guard":
		return &s.Guard
	case "publish":
		return &s.Publish
	}
	return nil
}

// StageNames are the names of all stages, in the order in which they run.
func StageNames() []string { return slices.Clone(stageNames) }

// Add adds what a stage took. A request may pass a stage more than once. It returns false for a
// name that is none.
func (s *StagesUs) Add(name string, took time.Duration) bool {
	us := s.of(name)
	if us == nil {
		return false
	}
	*us += int64((took + time.Microsecond - 1) / time.Microsecond)
	return true
}

// All yields the stages that the request passed.
func (s *StagesUs) All() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for _, name := range stageNames {
			if us := *s.of(name); us != 0 && !yield(name, us) {
				return
			}
		}
	}
}
