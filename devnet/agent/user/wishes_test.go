package user

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// Users differ in what they want: each kind of wish comes up.
func TestWishesVary(t *testing.T) {
	p := privacy{seed: 3, builders: []string{"builder-1"}, friend: common.Address{2}}
	kinds := map[string]bool{}
	for slot := range uint64(200) {
		wishes, err := json.Marshal(p.decide(moment{slot: slot, self: common.Address{1}}).wishes)
		if err != nil {
			t.Fatal(err)
		}
		kinds[string(wishes)] = true
	}
	for _, part := range []string{
		"null", `"fast":true`, `"hints":[]`, `"hints":["hash"]`, `"calldata"`, `"full"`, `"builders":["builder-1"]`,
		`"refund":[{"address":`, `"default_logs"`,
	} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(kinds)), func(kind string) bool {
			return strings.Contains(kind, part)
		}) {
			t.Errorf("nobody wishes %s", part)
		}
	}
	if len(kinds) != 9 {
		t.Errorf("%d kinds of wishes, want 9", len(kinds))
	}
}

// What a user wants follows from seed, slot and turn, and differs between them.
func TestPrivateDecisions(t *testing.T) {
	at := moment{slot: 5, turn: 2}
	first := privacy{seed: 3}.decide(at)
	if !reflect.DeepEqual(first, privacy{seed: 3}.decide(at)) {
		t.Error("the same situation gives another decision")
	}
	for name, other := range map[string]private{
		"seed": privacy{seed: 4}.decide(at), "slot": privacy{seed: 3}.decide(moment{slot: 6, turn: 2}),
		"turn": privacy{seed: 3}.decide(moment{slot: 5, turn: 3}),
	} {
		if reflect.DeepEqual(first, other) {
			t.Errorf("another %s gives the same", name)
		}
	}
	var regretted []int
	for sent := range 7 {
		if (privacy{cancelEvery: 3}).decide(moment{sent: sent}).regrets {
			regretted = append(regretted, sent+1)
		}
	}
	if !slices.Equal(regretted, []int{3, 6}) || (privacy{}).decide(moment{sent: 2}).regrets {
		t.Errorf("regrets the transactions %v, want 3 and 6", regretted)
	}
}

// A transaction is under way until it has landed, or until nobody tries it any more.
func TestUnderWay(t *testing.T) {
	u := underWay{nonce: 4, lastBlock: 30}
	for _, c := range []struct {
		next, head uint64
		over       bool
	}{{4, 30, false}, {5, 6, true}, {4, 31, true}} {
		if u.over(c.next, c.head) != c.over {
			t.Errorf("next nonce %d at block %d: over should be %v", c.next, c.head, c.over)
		}
	}
}
