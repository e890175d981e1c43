package relay

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// Stages keep the order in which they run, are rounded up, and are called in JSON what they are
// called otherwise. What took no time is not written.
func TestStagesUs(t *testing.T) {
	var s StagesUs
	kind := reflect.TypeFor[StagesUs]()
	for i := range kind.NumField() {
		name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		if !s.Add(name, time.Duration(i)*time.Microsecond) || StageNames()[i] != name {
			t.Errorf("%s is no stage, or not number %d", name, i)
		}
	}
	if s.Add("other", time.Second) {
		t.Error("an unknown stage was added")
	}
	s.Add("check", 1)
	s.Add("guard", 0)
	var names []string
	for name, us := range s.All() {
		names = append(names, name)
		if name == "check" && us != 3 {
			t.Errorf("check took %d µs, want 2 and one begun", us)
		}
	}
	if got := strings.Join(names, " "); got != "decode check simulate eligible signature escrow guard publish" {
		t.Error(got)
	}
	raw, err := json.Marshal(s)
	if want := `{"decode":1,"check":3,"simulate":3,"eligible":4,"signature":5,"escrow":6,"guard":7,"publish":8}`; err != nil ||
		string(raw) != want {
		t.Errorf("%s, %v", raw, err)
	}
	if n := testing.AllocsPerRun(10, func() { s.Add("publish", 1) }); n != 0 {
		t.Errorf("Add allocates %v times", n)
	}
}
