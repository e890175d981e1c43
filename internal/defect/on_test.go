//go:build mutants

package defect_test

import (
	"testing"

	"github.com/gavel-relay/gavel/internal/defect"
)

func TestSwitch(t *testing.T) {
	if err := defect.Switch("relay-perfect"); err == nil {
		t.Error("switched on what is not there")
	}
	if err := defect.Switch(defect.AnyValue); err != nil {
		t.Error(err)
	}
	if !defect.On(defect.AnyValue) || defect.On(defect.AnyGasLimit) {
		t.Error("want the one that was switched on, and no other")
	}
}
