package journal

import (
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// history is what clients asked for and were answered, and when. It is safe for concurrent use.
type history struct {
	mu         sync.Mutex // guards the fields below
	now        int64      // counts calls and answers, so that no two are at the same time
	operations []porcupine.Operation
}

// never is the time of an answer that did not come. What was asked for may count at any time after
// the call, or never, which looks the same as counting after all that was seen.
const never = int64(1) << 62

// begin notes a call. The function that it returns notes the answer; nil is none.
func (h *history) begin(client int, input any) (answered func(output any)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now++
	call := h.now
	return func(output any) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.now++
		end := h.now
		if output == nil {
			end = never
		}
		h.operations = append(h.operations, porcupine.Operation{ClientId: client, Input: input, Call: call,
			Output: output, Return: end})
	}
}

// checkPatience bounds the search for an order. It takes milliseconds; a search that is not over by
// then shows nothing, and fails.
const checkPatience = time.Minute

// isLinearizable says whether the answers are those of one copy that does one thing after another.
func (h *history) isLinearizable(t *testing.T, model porcupine.Model) bool {
	t.Helper()
	result := porcupine.CheckOperationsTimeout(model, h.operations, checkPatience)
	if result == porcupine.Unknown {
		t.Errorf("no order of %d operations was found or excluded in %s", len(h.operations), checkPatience)
	}
	return result == porcupine.Ok
}

// count returns how many operations were answered, and how many were not.
func (h *history) count() (answered, unanswered int) {
	for _, one := range h.operations {
		if one.Return == never {
			unanswered++
		} else {
			answered++
		}
	}
	return answered, unanswered
}

// claimInput claims a key for a value.
type claimInput struct{ key, value string }

// claimModel is a guard: of each key the first value stands for ever, and all are told which one.
// The state is the value that stands, empty without one; the output is what the claim was told.
var claimModel = porcupine.Model{
	Partition: partitionBy(func(input any) string { return input.(claimInput).key }),
	Init:      func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		stands := state.(string)
		if stands == "" {
			stands = input.(claimInput).value
		}
		return output == nil || output == stands, stands
	},
}

// appendInput appends an entry to the auction log of a subject.
type appendInput struct{ subject, entry string }

// logModel is an auction log as an instance uses it: an entry is appended, and answered when its
// instance has read the log up to it. The state is the whole log, the output what was read.
var logModel = porcupine.Model{
	Partition: partitionBy(func(input any) string { return input.(appendInput).subject }),
	Init:      func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		log := state.(string) + " " + input.(appendInput).entry
		return output == nil || output == log, log
	},
}

// partitionBy splits a history by a key of its operations, which do not see each other's.
func partitionBy(key func(input any) string) func([]porcupine.Operation) [][]porcupine.Operation {
	return func(all []porcupine.Operation) (parts [][]porcupine.Operation) {
		place := map[string]int{}
		for _, one := range all {
			name := key(one.Input)
			if _, known := place[name]; !known {
				place[name], parts = len(parts), append(parts, nil)
			}
			parts[place[name]] = append(parts[place[name]], one)
		}
		return parts
	}
}

// step is an operation of a history that is written down: its time from a call to an answer.
type step struct {
	call, end     int64
	input, output any
}

func written(steps []step) *history {
	h := &history{}
	for i, one := range steps {
		h.operations = append(h.operations, porcupine.Operation{ClientId: i, Input: one.input, Call: one.call,
			Output: one.output, Return: one.end})
	}
	return h
}

// The models find what must never be, and take what may be.
func TestModelsOfClaimsAndLogs(t *testing.T) {
	claim := func(value string) claimInput { return claimInput{"slot-1", value} }
	entry := func(name string) appendInput { return appendInput{"net.1", name} }
	for name, c := range map[string]struct {
		model porcupine.Model
		right bool
		steps []step
	}{
		"equal claims stand": {claimModel, true, []step{{1, 4, claim("a"), "a"}, {2, 3, claim("a"), "a"}}},
		"one that was not answered stands": {claimModel, true, []step{
			{1, never, claim("a"), nil}, {2, 3, claim("b"), "a"}}},
		"one that was not answered never counted": {claimModel, true, []step{
			{1, never, claim("a"), nil}, {2, 3, claim("b"), "b"}, {4, 5, claim("a"), "b"}}},
		"two blocks of one slot stand": {claimModel, false, []step{{1, 4, claim("a"), "a"}, {2, 3, claim("b"), "b"}}},
		"a claim is forgotten":         {claimModel, false, []step{{1, 2, claim("a"), "a"}, {3, 4, claim("b"), "b"}}},
		"a claim of nobody stands":     {claimModel, false, []step{{1, 2, claim("a"), "c"}}},
		"one that was asked for later stands": {claimModel, false, []step{
			{1, 2, claim("a"), "b"}, {3, 4, claim("b"), "b"}}},

		"two at once": {logModel, true, []step{{1, 4, entry("x"), " y x"}, {2, 3, entry("y"), " y"}}},
		"one that was not answered is there": {logModel, true, []step{
			{1, never, entry("x"), nil}, {2, 3, entry("y"), " x y"}}},
		"one that was not answered comes late": {logModel, true, []step{
			{1, never, entry("x"), nil}, {2, 3, entry("y"), " y"}, {4, 5, entry("z"), " y x z"}}},
		"an entry that was answered is lost": {logModel, false, []step{
			{1, 2, entry("x"), " x"}, {3, 4, entry("y"), " y"}}},
		"instances read another order": {logModel, false, []step{
			{1, 4, entry("x"), " x"}, {2, 3, entry("y"), " y"}}},
		"one that came later stands before": {logModel, false, []step{
			{1, 2, entry("x"), " y x"}, {3, 4, entry("y"), " y"}}},
		"an entry is there twice": {logModel, false, []step{
			{1, never, entry("x"), nil}, {2, 3, entry("y"), " x x y"}}},
		"a log of another slot": {logModel, false, []step{
			{1, 2, appendInput{"net.2", "x"}, " x"}, {3, 4, entry("y"), " x y"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := written(c.steps).isLinearizable(t, c.model); got != c.right {
				t.Errorf("the model says %v, want %v", got, c.right)
			}
		})
	}
}
