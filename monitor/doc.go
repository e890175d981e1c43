// Package monitor says what is wrong with relays, from what everybody can see: the headers that
// they serve, the payloads that they say they have delivered, the registrations that they know, and
// the blocks that are on the chain. It is pure; monitor/app asks and reports.
//
//	relay ─header──────▶ JudgeAnswer ───────┐
//	      ─registration▶ JudgeRegistration ─┼─▶ findings: relay, slot, class, what was seen
//	      ─delivered───▶ JudgeSlot ─────────┘
//	beacon node ─block─▶    ▲ of the slot when it is over
//
// A finding is an observation and no proof of intent: a header that was served for a slot that has
// no block may be the proposer's doing.
package monitor
