package scenarios

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/relay"
)

// recorded are the auction's facts of a run of bluff-and-cancel.
func recorded(t *testing.T) []Record {
	t.Helper()
	raw, err := os.ReadFile("testdata/facts.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	facts, err := ReadRecords(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

// The same facts give the same tops, to the last bit.
func TestReplayIsDeterministic(t *testing.T) {
	facts := recorded(t)
	first, err := Replay(facts)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if again, err := Replay(facts); err != nil || !reflect.DeepEqual(again, first) {
			t.Fatalf("%+v, %v; before %+v", again, err, first)
		}
	}
	var out strings.Builder
	for _, top := range first {
		line, err := json.Marshal(top)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	golden.File(t, "testdata/tops.ndjson", out.String())
}

// What leads at the end of each auction is what the relay showed last when it ran.
func TestReplayEndsAsTheRun(t *testing.T) {
	facts := recorded(t)
	want := map[phase0.Slot]phase0.Hash32{}
	for _, fact := range facts {
		var changed relay.TopChanged
		if fact.Subject != (relay.TopChanged{}).Subject() {
			continue
		}
		if err := json.Unmarshal(fact.Fact, &changed); err != nil {
			t.Fatal(err)
		}
		want[changed.Slot] = changed.BlockHash
	}
	tops, err := Replay(facts)
	if err != nil {
		t.Fatal(err)
	}
	got := map[phase0.Slot]phase0.Hash32{}
	for _, top := range tops {
		got[top.Slot] = top.BlockHash
	}
	if len(want) == 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("the replay ends with %v, the run ended with %v", got, want)
	}
}

func TestReplayBrokenFact(t *testing.T) {
	_, err := Replay([]Record{{Seq: 7, Subject: SubmissionJudged, Fact: json.RawMessage(`{"slot":[]}`)}})
	if err == nil || !strings.Contains(err.Error(), "replay fact 7") {
		t.Errorf("got %v", err)
	}
}
