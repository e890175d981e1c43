package eth_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

// announced is a payload_attributes event as beacon nodes send it.
func announced(slot string, more string) string {
	parent, root, randao := phase0.Hash32{0xaa}, phase0.Root{0xee}, phase0.Root{0xdd}
	return fmt.Sprintf(`{"version":"capella","data":{"proposer_index":"3","proposal_slot":"%s","parent_block_number":"9",`+
		`"parent_block_root":"%#x","parent_block_hash":"%#x","payload_attributes":{"timestamp":"1700000012","prev_randao":"%#x",`+
		`"suggested_fee_recipient":"0x0000000000000000000000000000000000000000"%s}}}`, slot, root[:], parent[:],
		randao[:], more)
}

// Each fork's event is read by the fields that it has.
func TestParsePayloadAttributes(t *testing.T) {
	withdrawals :=
		`,"withdrawals":[{"index":"5","validator_index":"10","address":"0x000000000000000000000000000000000000000b","amount":"15640"}]`
	beaconRoot := fmt.Sprintf(`,"parent_beacon_block_root":"0x%064x"`, 7)
	for name, row := range map[string]struct {
		event       string
		withdrawals int
		root        phase0.Root
	}{
		"bellatrix":      {announced("7", ""), 0, phase0.Root{0xee}},
		"capella":        {announced("7", withdrawals), 1, phase0.Root{0xee}},
		"deneb":          {announced("7", withdrawals+beaconRoot), 1, phase0.Root{31: 7}},
		"no withdrawals": {announced("7", `,"withdrawals":[]`), 0, phase0.Root{0xee}},
	} {
		a, err := eth.ParsePayloadAttributes([]byte(row.event))
		want := eth.PayloadAttributes{Slot: 7, ParentHash: phase0.Hash32{0xaa}, ParentRoot: row.root,
			PrevRandao: [32]byte{0xdd}}
		if err != nil || !a.Same(want) || a.ParentNumber != 9 || a.Timestamp != 1700000012 ||
			len(a.Withdrawals) != row.withdrawals {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
		if row.withdrawals > 0 && (a.Withdrawals[0].Index != 5 || a.Withdrawals[0].Amount != 15640) {
			t.Errorf("%s: withdrawal %v", name, a.Withdrawals[0])
		}
	}
}

// Gloas tells the slot once more, and no longer the number of the parent block.
func TestParsePayloadAttributesOfGloas(t *testing.T) {
	gloas := announced("7", `,"withdrawals":[],"slot_number":"7","target_gas_limit":"60000000"`)
	without := strings.Replace(gloas, `"parent_block_number":"9",`, "", 1)
	for name, row := range map[string]struct {
		event  string
		number uint64
	}{
		"of the specification": {without, 0},
		"with a parent number": {gloas, 9},
		"with another field":   {strings.Replace(without, `"slot_number"`, `"new":1,"slot_number"`, 1), 0},
	} {
		a, err := eth.ParsePayloadAttributes([]byte(row.event))
		if err != nil || a.Slot != 7 || a.ParentNumber != row.number || a.Withdrawals == nil {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	for name, bad := range map[string]string{
		"another slot":              strings.Replace(without, `"slot_number":"7"`, `"slot_number":"8"`, 1),
		"no number, and not gloas":  strings.Replace(without, `,"slot_number":"7"`, "", 1),
		"a slot that is no decimal": strings.Replace(without, `"slot_number":"7"`, `"slot_number":"0x7"`, 1),
	} {
		if a, err := eth.ParsePayloadAttributes([]byte(bad)); err == nil {
			t.Errorf("%s is read as %+v", name, a)
		}
	}
}

func TestParsePayloadAttributesRefuses(t *testing.T) {
	good := announced("7", "")
	for _, bad := range []string{
		"", "{}", "[]", good[1:], announced("-1", ""), announced("", ""),
		strings.Replace(good, "0xaa", "0x", 1), strings.Replace(good, "0xee", "ee", 1), strings.Replace(good,
			"0xdd", "0xzz", 1),
		strings.Replace(good, `"1700000012"`, `"now"`, 1), strings.Replace(good, `"9"`, `"0x9"`, 1),
		announced("7", `,"withdrawals":{}`), announced("7", `,"parent_beacon_block_root":"0x00"`),
	} {
		if a, err := eth.ParsePayloadAttributes([]byte(bad)); err == nil {
			t.Errorf("%s is read as %+v", bad, a)
		}
	}
}

func TestSameAttributes(t *testing.T) {
	base := eth.PayloadAttributes{Slot: 7, ParentHash: phase0.Hash32{1}, ParentRoot: phase0.Root{2},
		PrevRandao: [32]byte{3}}
	for name, change := range map[string]func(*eth.PayloadAttributes){
		"slot": func(a *eth.PayloadAttributes) { a.Slot++ }, "parent hash": func(a *eth.PayloadAttributes) {
			a.ParentHash[31]++
		},
		"parent root": func(a *eth.PayloadAttributes) { a.ParentRoot[31]++ }, "randao": func(a *eth.PayloadAttributes) {
			a.PrevRandao[31]++
		},
	} {
		other := base
		if change(&other); other.Same(base) || !base.Same(base) {
			t.Errorf("another %s counts as the same", name)
		}
	}
}
