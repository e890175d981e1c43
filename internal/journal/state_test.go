package journal

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func statesOf(t *testing.T, j *Journal, prefix string) []string {
	t.Helper()
	var all []string
	err := j.States(t.Context(), prefix, func(_ time.Time, subject string, data []byte) error {
		all = append(all, fmt.Sprintf("%s %s", subject, data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestStateIsWhatWasPutLast(t *testing.T) {
	manners(t, func(t *testing.T, cfg Config) {
		j := open(t, cfg)
		for _, put := range [][2]string{{"relay.a.x", "1"}, {"relay.b", "2"}, {"relay.a.y", "3"}, {"relay.a.x", "4"},
			{"rpc.a", "5"}, {"relaying.a", "6"}} {
			if err := j.PutState(t.Context(), put[0], []byte(put[1])); err != nil {
				t.Fatal(err)
			}
		}
		got, want := statesOf(t, j, "relay"), []string{"relay.b 2", "relay.a.y 3", "relay.a.x 4"}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if data, err := j.State(t.Context(), "relay.a.x"); err != nil || string(data) != "4" {
			t.Errorf("%q, %v", data, err)
		}
		for range 2 {
			if err := j.DropState(t.Context(), "relay.a.x"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := j.State(t.Context(), "relay.a.x"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v, want ErrNotFound", err)
		}
		failure := errors.New("enough")
		if err := j.States(t.Context(), "relay", func(time.Time, string, []byte) error {
			return failure
		}); !errors.Is(err, failure) {
			t.Errorf("%v, want the handler's error", err)
		}
		if got := statesOf(t, j, "nothing"); len(got) != 0 {
			t.Errorf("%q", got)
		}
	})
}

// Facts go when their time or their room is over; state stays, through restarts.
func TestStateOutlivesFacts(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), FactsFor: 100 * time.Millisecond}
	j, err := Open(t.Context(), withTestQuota(cfg))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.PutState(t.Context(), "relay.kill_switch", []byte("on")); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(t.Context(), "relay.kill_switch", []byte("on")); err != nil {
		t.Fatal(err)
	}
	for { // a fact that never goes away ends with the test's own deadline
		if _, err := j.LastOf(t.Context(), "relay.kill_switch"); errors.Is(err, ErrNotFound) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	shut(t, j)
	j = open(t, cfg)
	if data, err := j.State(t.Context(), "relay.kill_switch"); err != nil || string(data) != "on" {
		t.Errorf("%q, %v", data, err)
	}
	if last, err := j.Last(t.Context()); err != nil || last != 1 {
		t.Errorf("last place %d, %v: places are never given twice", last, err)
	}
}

func TestFactsAreBounded(t *testing.T) {
	j := open(t, Config{FactsBytes: 64 << 10})
	for range 200 {
		if _, err := j.Append(t.Context(), "a", make([]byte, 1<<10)); err != nil {
			t.Fatal(err)
		}
	}
	info, err := j.facts.Info(t.Context())
	if err != nil || info.State.Bytes > 64<<10 || info.State.LastSeq != 200 || info.Config.MaxAge != factsFor {
		t.Errorf("%+v, %v: want the newest facts in 64 KiB", info.State, err)
	}
}

// Any text is one word of a subject, and no two texts are the same word.
func TestTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		if (Token(a) == Token(b)) != (a == b) {
			t.Errorf("%q is %q, %q is %q", a, Token(a), b, Token(b))
		}
		for _, c := range Token(a) {
			if c == '.' || c == '*' || c == '>' || c <= ' ' || c > '~' {
				t.Errorf("%q is %q", a, Token(a))
			}
		}
	})
}
