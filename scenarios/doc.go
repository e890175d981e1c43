// Package scenarios is the language in which stories of auctions and faults are written, and the
// library of stories: who takes part, what they do, what breaks and when, and how it must end. The
// package is pure: it turns text into a Plan, or into errors with file, line and key; and it turns
// a Plan and the facts of a run into verdicts.
//
//	scenario.yaml ─Parse─▶ Plan ─┬─ Explain ─▶ words            facts.ndjson ─ReadRecords─┐
//	library ─Open──────────▶     ├─ Text ────▶ the same plan,                             ▼
//	                             │            with all defaults        Plan.Expect ──▶ Judge ─▶ a verdict and its reason each
//	                             ├─ Variants, With ─▶ one plan for each value that varies
//	                             └─ Without ─▶ the plan without what it is about (its expectations must then fail)
//
// Moments in a plan are slots with an offset ("slot 3 -200ms"); durations are chain time.
// docs/scenarios.md teaches the language.
package scenarios
