package app

import (
	"errors"
	"strings"
	"testing"
)

// Each node that lacks events of gloas is named until it has them; the builder may bid all the
// same.
func TestNodesThatLackEvents(t *testing.T) {
	var s staked
	s.noteEvents("http://b", false)
	s.noteEvents("http://a", false)
	s.noteEvents("http://a", false)
	if err := s.Fault(); !errors.Is(err, errNotAsked) || strings.Count(err.Error(), "lacks events of gloas") != 2 ||
		strings.Index(err.Error(), "http://a") > strings.Index(err.Error(), "http://b") {
		t.Errorf("%v", err)
	}
	s.set(7, 0, nil)
	s.noteEvents("http://a", true)
	if err := s.Fault(); err == nil || !strings.Contains(err.Error(), "http://b") ||
		strings.Contains(err.Error(), "http://a") {
		t.Errorf("%v", err)
	}
	if !s.mayBid() {
		t.Error("the builder may not bid")
	}
	s.noteEvents("http://b", true)
	if err := s.Fault(); err != nil {
		t.Errorf("%v", err)
	}
}
