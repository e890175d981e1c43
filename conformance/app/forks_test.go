package app

import (
	"testing"

	"github.com/gavel-relay/gavel/conformance/verdict"
)

func TestForksAreRead(t *testing.T) {
	all, err := ParseForks("all")
	if err != nil || len(all) != 5 || all[0].String() != "bellatrix" || all[4].String() != "fulu" {
		t.Errorf("all forks are %v, %v", all, err)
	}
	two, err := ParseForks("deneb, electra")
	if err != nil || len(two) != 2 || two[1].String() != "electra" {
		t.Errorf("two forks are %v, %v", two, err)
	}
	for _, bad := range []string{"", "phase0", "deneb,", "gloas"} {
		if list, err := ParseForks(bad); err == nil {
			t.Errorf("%q is %v", bad, list)
		}
	}
}

// The worst status of several runs is the one to look at first, and 0 only if all are.
func TestWorseStatus(t *testing.T) {
	for _, row := range [][3]int{
		{verdict.Conformant, verdict.Conformant, verdict.Conformant},
		{verdict.Conformant, verdict.Unusable, verdict.Unusable},
		{verdict.StaleExpected, verdict.Nonconformant, verdict.Nonconformant},
		{verdict.SuiteFault, verdict.Nonconformant, verdict.SuiteFault},
		{verdict.Conformant, -1, verdict.SuiteFault},
	} {
		if got := worse(row[0], row[1]); got != row[2] {
			t.Errorf("worse of %d and %d is %d, want %d", row[0], row[1], got, row[2])
		}
	}
}
