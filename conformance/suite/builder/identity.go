package builder

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

const (
	keyHeader      = "X-Api-Key"
	sequenceHeader = "X-Sequence"
)

// describeIdentity adds specs about what tells a relay who the builder is, and in which order it
// has sent.
func describeIdentity(s *suite.Set) {
	s.Slow("BLD-IDN-01", "has one API key for a relay", func(t *suite.T) {
		keys := keysOf(t, watch(t))
		for name, list := range keys {
			t.Check(len(list) == 1, "one "+keyHeader+" at relay "+name, fmt.Sprintf("%d of them, or none at times", len(list)))
		}
	})
	s.Slow("BLD-IDN-02", "tells no relay the API key of another", func(t *suite.T) {
		list := watch(t)
		keys := keysOf(t, list)
		if len(keys) > 1 && areSameEverywhere(keys) {
			t.NotRun("the builder has one API key for all relays")
		}
		for _, relay := range t.Auctions.All {
			for name, secrets := range keys {
				for secret := range secrets {
					if name == relay.Name || secret == "" {
						continue
					}
					for _, endpoint := range []scripted.Endpoint{scripted.Submit, scripted.Duties, scripted.Other} {
						for _, asked := range relay.Heard(endpoint, nil) {
							t.Check(!holdsSecret(asked, secret), "nothing of another relay's API key at relay "+relay.Name,
								"the key of relay "+name)
						}
					}
				}
			}
		}
	})
	s.Slow("BLD-IDN-03", "numbers its submissions in their order", func(t *suite.T) {
		var before *scripted.Submission
		numbered := false
		for _, one := range watchReadable(t) {
			text := one.Header.Get(sequenceHeader)
			if text == "" {
				continue
			}
			numbered = true
			number, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				judge(t, one, &finding{sequenceHeader + " with a number", strconv.Quote(text)})
			}
			if before != nil && isSameAuction(before, one) {
				last, _ := strconv.ParseUint(before.Header.Get(sequenceHeader), 10, 64)
				if number <= last {
					judge(t, one, &finding{fmt.Sprintf("%s above %d", sequenceHeader, last), text})
				}
			}
			before = one
		}
		if !numbered {
			t.NotRun("the builder sends no " + sequenceHeader)
		}
	})
	s.Slow("BLD-IDN-04", "signs all bids with one key", func(t *suite.T) {
		list := watchReadable(t)
		for _, one := range list {
			judge(t, one, compareField("builder_pubkey", list[0].Block.Message.BuilderPubkey, one.Block.Message.BuilderPubkey))
		}
	})
}

// keysOf returns the API keys that each relay was sent with submissions, by the relay's name. The
// spec is not run if the builder sends none.
func keysOf(t *suite.T, list []*scripted.Submission) map[string]map[string]bool {
	keys, some := map[string]map[string]bool{}, false
	for _, one := range list {
		if keys[one.Relay.Name] == nil {
			keys[one.Relay.Name] = map[string]bool{}
		}
		key := one.Header.Get(keyHeader)
		keys[one.Relay.Name][key] = true
		some = some || key != ""
	}
	if len(list) == 0 {
		t.Inconclusive("the builder has submitted nothing")
	}
	if !some {
		t.NotRun("the builder sends no " + keyHeader)
	}
	return keys
}

// areSameEverywhere says whether all relays know the same keys.
func areSameEverywhere(keys map[string]map[string]bool) bool {
	all := map[string]bool{}
	for _, list := range keys {
		for key := range list {
			all[key] = true
		}
	}
	return len(all) == 1
}

// holdsSecret says whether a secret stands anywhere in a request.
func holdsSecret(asked scripted.Asked, secret string) bool {
	for _, values := range asked.Header {
		if strings.Contains(strings.Join(values, "\n"), secret) {
			return true
		}
	}
	return strings.Contains(asked.Path+"?"+asked.Query, secret) || bytes.Contains(asked.Body, []byte(secret))
}
