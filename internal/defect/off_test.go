//go:build !mutants

package defect_test

import (
	"testing"

	"github.com/gavel-relay/gavel/internal/defect"
)

func TestNothingCanBeSwitchedOn(t *testing.T) {
	if err := defect.Switch(defect.AnyValue); err == nil || defect.On(defect.AnyValue) {
		t.Error("switched on what is not there", err)
	}
}
