package mutant

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// registrations returns the registrations of the request in JSON; nil if it has none.
func (e *Exchange) registrations() (list []map[string]any) {
	all, _ := e.askedJSON().([]any)
	for _, one := range all {
		list = append(list, object(one))
	}
	return list
}

// anyRegistration says whether one of the request's registrations is so.
func (e *Exchange) anyRegistration(is func(registration, message map[string]any) bool) bool {
	for _, one := range e.registrations() {
		if is(one, at(one, "message")) {
			return true
		}
	}
	return false
}

// holding is a fault that sees, with each answer to registrations, the newest one that was accepted
// of each key before.
func holding(change func(e *Exchange, held map[string]map[string]any)) func() Fault {
	return func() Fault {
		held := map[string]map[string]any{}
		return Fault{Answer: func(e *Exchange) {
			if !e.on(registerPath) {
				if e.on(dutiesPath) {
					change(e, held)
				}
				return
			}
			right := e.Status == http.StatusOK
			change(e, held)
			for _, one := range e.registrations() {
				if key, _ := at(one, "message")["pubkey"].(string); right {
					held[key] = one
				}
			}
		}}
	}
}

// heldMutants returns the mutants that take registrations of one kind that must be refused, or lose
// some that are right.
func heldMutants() []Mutant {
	pardon := func(is func(registration, message map[string]any) bool) func() Fault {
		return pardons(registerPath, func(e *Exchange) bool { return e.anyRegistration(is) })
	}
	return []Mutant{
		{"relay-takes-registrations-of-future", "relay", "takes registrations of the future", []string{"REL-REG-04"},
			pardon(func(_, message map[string]any) bool {
				text, _ := message["timestamp"].(string)
				seconds, err := strconv.ParseInt(text, 10, 64)
				return err == nil && seconds > time.Now().Unix()+10
			})},
		{"relay-takes-registrations-of-keys-that-are-no-validators", "relay",
			"takes registrations of keys that are no validator's", []string{"REL-REG-05"},
			holding(func(e *Exchange, held map[string]map[string]any) {
				for _, one := range e.registrations() {
					if key, _ := at(one, "message")["pubkey"].(string); held[key] == nil && e.Status == http.StatusBadRequest {
						e.say(http.StatusOK, "", "")
					}
				}
			})},
		{"relay-takes-registrations-that-not-json", "relay", "takes registrations that are not JSON", []string{"REL-REG-09"},
			pardons(registerPath, func(e *Exchange) bool { return e.hasMedia(jsonType) && e.askedJSON() == nil })},
		{"relay-takes-registrations-that-lack-field", "relay", "takes registrations that lack a field",
			[]string{"REL-REG-10"},
			pardon(func(_, message map[string]any) bool { return len(message) < 4 })},
		{"relay-takes-registrations-of-any-content-type", "relay", "takes registrations of any content type",
			[]string{"REL-REG-11"},
			pardons(registerPath, func(e *Exchange) bool { return !e.hasMedia(octets) && !e.hasMedia(jsonType) })},
		{"relay-takes-ssz-of-half-a-registration", "relay", "takes SSZ whose length is no multiple of a registration's",
			[]string{"REL-REG-12"},
			pardons(registerPath, func(e *Exchange) bool { return e.hasMedia(octets) && len(e.Asked)%180 != 0 })},
		{"relay-shows-builders-first-registration-for-ever", "relay", "shows builders the first registration for ever",
			[]string{"REL-REG-13"}, firstDuties},
		{"relay-refuses-same-registration-again", "relay", "refuses the same registration again", []string{"REL-REG-14"},
			func() Fault {
				seen := map[string]bool{}
				return Fault{Ask: func(e *Exchange) bool {
					if !e.on(registerPath) || len(e.registrations()) != 1 {
						return false
					}
					known := seen[string(e.Asked)]
					seen[string(e.Asked)] = true
					return known && e.say(http.StatusBadRequest, jsonType, `{"code":400,"message":"it is registered"}`)
				}}
			}},
		{"relay-takes-first-six-registrations-of-request", "relay",
			"takes the first six registrations of a request, and drops the others", []string{"REL-REG-15"},
			firstOfList},
		{"relay-takes-any-signature-over-what-it-holds", "relay", "takes any signature over what it holds",
			[]string{"REL-REG-02"},
			holding(func(e *Exchange, held map[string]map[string]any) {
				for _, one := range e.registrations() {
					key, _ := at(one, "message")["pubkey"].(string)
					if e.Status == http.StatusBadRequest && same(at(held[key], "message")["fee_recipient"],
						at(one, "message")["fee_recipient"]) {
						e.say(http.StatusOK, "", "")
					}
				}
			})},
		{"relay-takes-signatures-that-are-no-points-of-curve", "relay", "takes signatures that are no points of the curve",
			[]string{"REL-REG-17"},
			pardon(func(registration, _ map[string]any) bool {
				return same(registration["signature"], "0x"+strings.Repeat("ff", 96))
			})},
	}
}

// firstDuties puts the first registration of each validator in place of the newest one in the list
// of proposers.
func firstDuties() Fault {
	first := map[string]any{}
	return Fault{Answer: func(e *Exchange) {
		if !e.on(dutiesPath) || e.Status != http.StatusOK {
			return
		}
		e.edit(func(d any) any {
			list, _ := d.([]any)
			for _, entry := range list {
				key, _ := at(entry, "entry", "message")["pubkey"].(string)
				if first[key] == nil {
					first[key] = object(entry)["entry"]
				}
				object(entry)["entry"] = first[key]
			}
			return d
		})
	}}
}

// firstOfList forwards the first six registrations of a request. It leaves a request whole that has
// a key which was not registered before: without it, no spec could begin.
func firstOfList() Fault {
	known := map[string]bool{}
	return Fault{
		Ask: func(e *Exchange) bool {
			list := e.registrations()
			fresh := e.anyRegistration(func(_, message map[string]any) bool {
				key, _ := message["pubkey"].(string)
				return !known[key]
			})
			if e.on(registerPath) && len(list) > 6 && !fresh {
				if raw, err := json.Marshal(list[:6]); err == nil {
					e.Asked = raw
				}
			}
			return false
		},
		Answer: func(e *Exchange) {
			for _, one := range e.registrations() {
				if key, _ := at(one, "message")["pubkey"].(string); e.on(registerPath) && e.Status == http.StatusOK {
					known[key] = true
				}
			}
		},
	}
}
