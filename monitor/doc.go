// Package monitor finds faults of relays from what is public: the headers that they serve, the
// payloads that they list as delivered, the registrations that they show, and the blocks of the
// chain. It is pure; monitor/app asks and reports.
//
//	relay ─header──────▶ JudgeHeader ───────┐
//	      ─registration▶ JudgeRegistration ─┼─▶ findings: relay, slot, class, what was seen
//	      ─delivered───▶ JudgeSlot ─────────┘
//	beacon node ─block─▶    ▲ of the slot when it is over
//
// A finding is an observation and no proof of intent: if a header was served and the slot has no
// block, the proposer may be the cause.
package monitor
