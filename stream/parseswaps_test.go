package stream_test

import (
	"reflect"
	"testing"

	"github.com/gavel-relay/gavel/stream"
)

func TestParseSwaps(t *testing.T) {
	topicText := transfer.Hex()
	for text, want := range map[string]stream.SwapTable{
		"":                        {},
		",":                       {},
		"Pancake v3=" + topicText: {transfer: {Name: "Pancake v3"}},
		"a=" + topicText + "+pool, b=" + swapV2.Hex(): {transfer: {Name: "a", PoolTopic: true}, swapV2: {Name: "b"}},
	} {
		if got, err := stream.ParseSwaps(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"a", "a=0x12", "=" + topicText, topicText, "a=" + topicText + "+x", "a=" +
		topicText[2:]} {
		if got, err := stream.ParseSwaps(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
