package verdict

// The exit statuses of a run. There is no 0 for a run in which nothing was judged.
const (
	Conformant    = 0  // every selected MUST passes, and every expectation is met
	Nonconformant = 1  // a MUST fails, or could not be judged
	StaleExpected = 2  // an expectation matched nothing
	Unusable      = 3  // the target cannot be reached, or nothing was conclusive
	SuiteFault    = 4  // the suite broke down
	WrongUsage    = 64 // the caller's mistake: unknown clause, empty selection
)

// Exit is the status of a run.
func Exit(clauses []Clause, results []Result, stale []string) int {
	must := map[string]bool{}
	for _, c := range clauses {
		must[c.ID] = c.Must
	}
	judged, missed, stalePass := 0, 0, len(stale) > 0
	for _, r := range results {
		switch r.Verdict {
		case SuiteError:
			return SuiteFault
		case Pass, PassLenient, XFail, Flaky, Warn, NotFeature, Disputed:
			judged++
		case XPass:
			judged++
			stalePass = true
		case Fail:
			judged++
			missed++
		case NotSure:
			if must[r.Clause] {
				missed++
			}
		case NotRun:
		}
	}
	switch {
	case judged == 0:
		return Unusable
	case missed > 0:
		return Nonconformant
	case stalePass:
		return StaleExpected
	default:
		return Conformant
	}
}

// ProfileVerdict says what the clauses of a profile come to.
type ProfileVerdict string

// The verdicts on profiles.
const (
	ProfileConformant    ProfileVerdict = "conformant"
	ProfilePartial       ProfileVerdict = "partial" // no MUST fails, but not all could be judged
	ProfileNonconformant ProfileVerdict = "nonconformant"
	ProfileNotRun        ProfileVerdict = "not-run"
)

// OfProfile judges the MUSTs of a profile. An expected failure is a failure here: that it is known
// does not make it conformant.
func OfProfile(musts []Verdict) ProfileVerdict {
	passed, open := 0, 0
	for _, v := range musts {
		switch v {
		case Fail, XFail, SuiteError:
			return ProfileNonconformant
		case Pass, PassLenient, NotFeature, XPass:
			passed++
		case NotSure, NotRun, Flaky:
			open++
		case Warn, Disputed:
		}
	}
	switch {
	case passed == 0:
		return ProfileNotRun
	case open > 0:
		return ProfilePartial
	default:
		return ProfileConformant
	}
}
