//go:build !mutants

package defect

import "errors"

// On is false: what stands behind it is not in this program.
func On(ID) bool { return false }

// Switch fails: there is nothing to switch on.
func Switch(...ID) error {
	return errors.New("this program has no defects to switch on: build it with -tags mutants")
}
