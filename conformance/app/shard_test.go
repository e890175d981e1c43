package app

import (
	"testing"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/target"
)

// Every chosen clause is in exactly one shard, shards are equally large, and nothing else is
// chosen.
func TestShards(t *testing.T) {
	catalogue, err := clauses.Load()
	if err != nil {
		t.Fatal(err)
	}
	const count = 3
	seen := map[string]int{}
	var sizes []int
	for i := range count {
		chosen := map[string]bool{}
		for _, c := range catalogue.Match("REL-*") {
			chosen[c.ID] = true
		}
		all := len(chosen)
		Shard{i + 1, count}.keep(catalogue, chosen)
		size := 0
		for id, is := range chosen {
			if is {
				seen[id]++
				size++
			}
		}
		sizes = append(sizes, size)
		if size < all/count || size > all/count+1 {
			t.Errorf("shard %d has %d of %d clauses", i+1, size, all)
		}
	}
	for _, c := range catalogue.Match("REL-*") {
		if seen[c.ID] != 1 {
			t.Errorf("%s is in %d shards", c.ID, seen[c.ID])
		}
	}
	t.Log(sizes)
}

func TestShardsAreRead(t *testing.T) {
	for text, good := range map[string]bool{"": true, "1/1": true, "2/3": true, "0/3": false, "4/3": false, "1": false,
		"1/0": false, "a/b": false, "1/2/3": false} {
		if _, err := ParseShard(text); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Each mutant is in exactly one shard of a proof.
func TestShardsOfMutants(t *testing.T) {
	proof := Proof{Mutants: "program", Target: &target.Target{Relay: &target.Relay{}}}
	all, seen := proof.chosen(), map[string]int{}
	for i := range 3 {
		proof.Shard = Shard{i + 1, 3}
		part := proof.chosen()
		if len(part) < len(all)/3 || len(part) > len(all)/3+1 {
			t.Errorf("shard %d has %d of %d mutants", i+1, len(part), len(all))
		}
		for _, m := range part {
			seen[m.ID]++
		}
	}
	for _, m := range all {
		if seen[m.ID] != 1 {
			t.Errorf("%s is in %d shards", m.ID, seen[m.ID])
		}
	}
}
