package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/internal/eth"
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
		{clauses.Conformant, clauses.Conformant, clauses.Conformant},
		{clauses.Conformant, clauses.Unusable, clauses.Unusable},
		{clauses.StaleExpected, clauses.Nonconformant, clauses.Nonconformant},
		{clauses.SuiteFault, clauses.Nonconformant, clauses.SuiteFault},
		{clauses.Conformant, -1, clauses.SuiteFault},
	} {
		if got := worseOf(row[0], row[1]); got != row[2] {
			t.Errorf("worse of %d and %d is %d, want %d", row[0], row[1], got, row[2])
		}
	}
}

// Forks run side by side, are told in order, and end with the worst of their statuses.
func TestForksRunAtOnce(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "suite")
	// The first fork waits for the second one, and the second one fails.
	script := fmt.Sprintf(`#!/bin/sh
while [ $# -gt 0 ]; do case $1 in --fork) fork=$2;; --out) out=$2;; esac; shift; done
mkdir -p "$out"; echo '{"schema":1,"clauses":[],"fork":"'$fork'"}' >"$out/report.json"; echo "said by $fork"
case $fork in deneb) while [ ! -e %[1]s/second ]; do sleep 0.01; done;; electra) touch %[1]s/second; exit 1;; esac
`, dir)
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil { // it is to be run
		t.Fatal(err)
	}
	var said strings.Builder
	exit, err := Forks{Program: program, Forks: []eth.Fork{eth.Deneb, eth.Electra}, AtOnce: 2, Out: dir, Notes: t.Output(),
		Said: &said}.Run(t.Context())
	if want := "\n== deneb\nsaid by deneb\n\n== electra\nsaid by electra\n"; err != nil || exit != 1 ||
		said.String() != want {
		t.Errorf("status %d, %v, said %q", exit, err, said.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "matrix.html")); err != nil {
		t.Error(err)
	}
}
