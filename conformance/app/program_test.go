package app

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
)

func TestFillWords(t *testing.T) {
	words := map[string]string{"relays": "http://a,http://b", "listen": "127.0.0.1:1"}
	got, err := fillWords(`env X={} run --at {listen} --relays "{relays}" '{"json": 1}'`, words)
	if want := `env X={} run --at 127.0.0.1:1 --relays "http://a,http://b" '{"json": 1}'`; err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := fillWords("run {nothing}", words); err == nil || !strings.Contains(err.Error(), "{nothing}") {
		t.Errorf("a word that there is not: %v", err)
	}
	if !usesWord("a {listen}", "listen") || usesWord("a {listener}", "listen") {
		t.Error("another placeholder is used")
	}
}

// stop ends the program and what it has started.
func TestStopProgramEndsTheWholeGroup(t *testing.T) {
	p, err := startProgram("sleep 1000 & echo ready; wait", t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.await(t.Context(), func(context.Context) error {
		if !strings.Contains(p.said.String(), "ready") {
			return errors.New("not yet")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	// The program has ended when nobody is left who could write for it.
	if errors.Is(p.failure, exec.ErrWaitDelay) {
		t.Error("something of the group is left")
	}
}

// A program that ends before it is ready is told with its last words.
func TestAwaitTellsWhatTheProgramSaid(t *testing.T) {
	var log bytes.Buffer
	p, err := startProgram("echo no such flag; exit 3", &log)
	if err != nil {
		t.Fatal(err)
	}
	err = p.await(t.Context(), func(context.Context) error { return errors.New("nobody listens") })
	if err == nil || !strings.Contains(err.Error(), "no such flag") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v", err)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}
