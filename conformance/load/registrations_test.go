package load

import (
	"encoding/json"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/world"
)

// All validators are registered in turn, again and again, and signed anew every ten seconds; never
// with a time that has not come.
func TestRegistrations(t *testing.T) {
	var keys []*probe.BLSKey
	for _, name := range []string{"a", "b", "c"} {
		keys = append(keys, probe.DeriveBLSKey(name))
	}
	facts, first := world.Facts{GenesisForkVersion: "0x01020304"}, time.Unix(1_700_000_000, 5)
	r, err := signRegistrations(keys, facts, 2, first, 25*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		n         int
		after     time.Duration
		validator int // the first of the request
		size      int
		at        int64
	}{
		{0, 0, 0, 2, 1_700_000_000}, {1, 0, 2, 1, 1_700_000_000}, {2, 9 * time.Second, 0, 2, 1_700_000_000},
		{0, 10 * time.Second, 0, 2, 1_700_000_010}, {3, 29 * time.Second, 2, 1, 1_700_000_020},
		{0, time.Hour, 0, 2, 1_700_000_020}, {0, -time.Second, 0, 2, 1_700_000_000},
	} {
		var list []*builderv1.SignedValidatorRegistration
		if err := json.Unmarshal(r.body(row.n, first.Add(row.after)), &list); err != nil {
			t.Fatal(err)
		}
		if len(list) != row.size || list[0].Message.Pubkey != keys[row.validator].Public ||
			list[0].Message.Timestamp.Unix() != row.at {
			t.Errorf("request %d after %v: %d registrations, the first %+v; want %+v", row.n, row.after, len(list),
				list[0].Message, row)
		}
		root, err := list[0].Message.HashTreeRoot()
		if err != nil {
			t.Fatal(err)
		}
		if err := probe.VerifyBLS(list[0].Message.Pubkey, probe.SigningRoot(root, builderDomain(facts)),
			list[0].Signature); err != nil {
			t.Error(err)
		}
	}
}
