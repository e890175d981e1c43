package jsonscan

import (
	"fmt"
	"strings"
	"testing"
)

// The second of a kind is found, however many names there are, up to a limit.
func TestNames(t *testing.T) {
	for count := range 100 {
		var names Names
		for i := range count {
			if err := names.Add(fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range count {
			if err := names.Add(fmt.Sprint(i)); err == nil || !strings.Contains(err.Error(), "comes twice") {
				t.Fatalf("%d of %d: %v", i, count, err)
			}
		}
	}
	var names Names
	for i := range 32 + maxNames {
		if err := names.Add(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := names.Add("more"); err == nil {
		t.Error("there is no limit")
	}
}

func TestFold(t *testing.T) {
	for name, want := range map[string]string{"Slot": "slot", "\u017flot": "slot", "bloc\u212a": "block", "é": "é"} {
		if got := Fold(name); got != want {
			t.Errorf("%q is %q: want %q", name, got, want)
		}
	}
}
