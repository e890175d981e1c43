// Package plan is the language in which somebody writes what happens in a lab: who takes part, what
// they do, what breaks and when, and how it must end. It is pure: text becomes a Plan or errors
// with file, line and key; a Plan and the facts of a run become verdicts.
//
//	scenario.yaml ─Parse─▶ Plan ─┬─ Explain ─▶ words            facts.ndjson ─ReadRecords─┐
//	                             ├─ Text ────▶ the same plan,                             ▼
//	                             │            with all defaults        Plan.Expect ──▶ Judge ─▶ a verdict and its reason each
//	                             ├─ Variants, With ─▶ one plan for each value that varies
//	                             └─ Without ─▶ the plan without what it is about (its expectations must then fail)
//
// Times in a plan are slots with an offset ("slot 3 -200ms"); durations are chain time.
// docs/scenarios.md teaches the language.
package plan
