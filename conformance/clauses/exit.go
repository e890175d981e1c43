package clauses

// The exit statuses of a run. A run in which nothing was judged never ends with 0.
const (
	Conformant    = 0  // every judged MUST passes or fails as expected, and no expectation is stale
	Nonconformant = 1  // a MUST fails unexpectedly, or could not be judged
	StaleExpected = 2  // an expectation matched no failure
	Unusable      = 3  // the target cannot be reached, or no clause was judged
	SuiteFault    = 4  // the suite itself failed
	WrongUsage    = 64 // the caller's mistake: unknown clause, empty selection
)

// ExitStatus returns the exit status of a run.
func ExitStatus(clauses []Subject, results []Result, stale []string) int {
	must := map[string]bool{}
	for _, c := range clauses {
		must[c.ID] = c.Must && !c.Disp
	}
	judged, missed, stalePass := 0, 0, len(stale) > 0
	for _, r := range results {
		switch r.Verdict {
		case SuiteError:
			return SuiteFault
		case Pass, PassLenient, XFail, Flaky, Warn:
			judged++
		case XPass:
			judged++
			stalePass = true
		case Fail:
			judged++
			missed++
		case NotSure:
			if must[r.Clause] && !r.Expected {
				missed++
			}
		case NotRun, NotFeature, Disputed: // what is not there, or only recorded, judges nobody
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

// ProfileVerdict is the verdict on a profile as a whole.
type ProfileVerdict string

// The verdicts on profiles.
const (
	ProfileConformant    ProfileVerdict = "conformant"
	ProfilePartial       ProfileVerdict = "partial" // no MUST fails, but not all could be judged
	ProfileNonconformant ProfileVerdict = "nonconformant"
	ProfileNotRun        ProfileVerdict = "not-run"
)

// JudgeProfile judges a profile by the verdicts on its MUSTs. An expected failure is a failure
// here, because a target that fails is not conformant, even if the failure is known.
func JudgeProfile(musts []Verdict) ProfileVerdict {
	passed, open := 0, 0
	for _, v := range musts {
		switch v {
		case Fail, XFail, SuiteError:
			return ProfileNonconformant
		case Pass, PassLenient, XPass:
			passed++
		case NotSure, NotRun, Flaky:
			open++
		case Warn, Disputed, NotFeature: // a report says beside the verdict which features are not there
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
