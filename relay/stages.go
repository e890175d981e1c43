package relay

import (
	"iter"
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

// stage is a field with its name in JSON.
type stage struct {
	name string
	us   *int64
}

// fields are in the order in which stages run.
func (s *StagesUs) fields() [9]stage {
	return [...]stage{
		{"receive", &s.Receive}, {"decode", &s.Decode}, {"check", &s.Check}, {"simulate", &s.Simulate},
		{"eligible", &s.Eligible}, {"signature", &s.Signature}, {"escrow", &s.Escrow}, {"guard", &s.Guard},
		{"publish", &s.Publish},
	}
}

// StageNames are the names of all stages, in the order in which they run.
func StageNames() (names []string) {
	var s StagesUs
	for _, one := range s.fields() {
		names = append(names, one.name)
	}
	return names
}

// Add adds what a stage took. A request may pass a stage more than once. It returns false for a
// name that is none.
func (s *StagesUs) Add(name string, took time.Duration) bool {
	for _, one := range s.fields() {
		if one.name == name {
			*one.us += int64((took + time.Microsecond - 1) / time.Microsecond)
			return true
		}
	}
	return false
}

// All yields the stages that the request passed.
func (s *StagesUs) All() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for _, one := range s.fields() {
			if *one.us != 0 && !yield(one.name, *one.us) {
				return
			}
		}
	}
}
