package stream_test

import (
	"encoding/json"
	"testing"

	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/stream"
)

// Whatever the journal holds, an order gives one line of JSON, nothing, or an error; and it stays
// as it is.
func FuzzProject(f *testing.F) {
	for _, kind := range kinds() {
		inner := orderflow.Element{Bundle: &orderflow.Bundle{Hints: orderflow.DefaultLogs,
			Elements: []orderflow.Element{element(f, kind.tx, logs()...)}}}
		data, err := json.Marshal(order(orderflow.Full|orderflow.Logs, element(f, kind.tx, logs()...), inner))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var shared orderflow.Shared
		if json.Unmarshal(data, &shared) != nil {
			return
		}
		before, err := json.Marshal(&shared)
		if err != nil {
			return // its time is no JSON
		}
		line, err := stream.ProjectHints(&shared, stream.HintConfig{Swaps: stream.DefaultSwaps(), MevGasPrice: true,
			GasUsed:  true,
			GasLimit: true})
		if err != nil && line != nil {
			t.Fatalf("both %s and %v", line, err)
		}
		if line != nil && !json.Valid(line) {
			t.Fatalf("not JSON: %s", line)
		}
		if after, err := json.Marshal(&shared); err != nil || string(after) != string(before) {
			t.Fatalf("the order was changed from %s to %s (%v)", before, after, err)
		}
	})
}
