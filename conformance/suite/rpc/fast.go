package rpc

import (
	"fmt"
	"slices"

	"github.com/gavel-relay/gavel/conformance/suite"
)

// fast: what preferences.fast does with a private transaction.
func fast(s *suite.Set) {
	s.It("RPC-PRI-16", "goes to all registered builders", func(t *suite.T) {
		watched(t)
		tx := money(t).send(1)
		sent(t, call(t, key(t), "eth_sendPrivateTransaction", object{"tx": raw(t, tx), "preferences": object{"fast": true}}),
			tx)
		var missing []string
		_ = t.Eventually(slots(t, 6), func() error {
			missing = nil
			for _, b := range t.World.Facts.Builders {
				missing = append(missing, b.Name)
			}
			for _, s := range sentTo(t, tx) {
				missing = slices.DeleteFunc(missing, func(name string) bool { return name == s.Builder })
			}
			if len(missing) > 0 {
				return errNotSent
			}
			return nil
		})
		t.Check(len(missing) == 0, "the transaction at all of the world's builders", fmt.Sprintf("not at %v", missing))
	})
	s.It("RPC-PRI-16", "gives back half", func(t *suite.T) {
		b := followed(t, func(t *suite.T, tx string) (string, object) {
			return "eth_sendPrivateTransaction", object{"tx": tx,
				"preferences": object{"fast": true, "privacy": object{"hints": []string{"hash"}}}}
		})
		b.gets(t, b.owner.address(), b.refund(50, 1))
	})
}
