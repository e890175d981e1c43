package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
)

func TestFirstSignalCancelsAndSecondQuits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal)
		quit := 0
		ctx, stop := cancelOnSignal(t.Context(), signals, func() { quit++ })
		defer stop()
		if ctx.Err() != nil {
			t.Fatal("cancelled before any signal")
		}
		signals <- os.Interrupt
		<-ctx.Done()
		synctest.Wait()
		if quit != 0 {
			t.Error("the first signal ended the process")
		}
		signals <- os.Interrupt
		synctest.Wait()
		if quit != 1 {
			t.Error("the second signal did not end the process")
		}
	})
}

// Nothing is left behind: the bubble fails a test whose goroutines do not end.
func TestStopEndsTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := cancelOnSignal(context.WithoutCancel(t.Context()), make(chan os.Signal), func() { t.Error("quit") })
		stop()
		stop()
		if ctx.Err() == nil {
			t.Error("stop did not cancel")
		}
	})
}

func TestExit(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		line   string
	}{
		{nil, 0, ""},
		{errors.New("the chain stopped"), 1, "gavel: the chain stopped\n"},
		{errors.New("several\n\tlines"), 1, "gavel: several lines\n"},
		{Usage(errors.New("slots is -1")), 2, "gavel: slots is -1\n"},
		{fmt.Errorf("read config: %w", Usage(errors.New("no such key"))), 2, "gavel: read config: no such key\n"},
		{Usage(nil), 0, ""},
	} {
		var stderr bytes.Buffer
		if got := Exit(&stderr, "gavel", c.err); got != c.status || stderr.String() != c.line {
			t.Errorf("%v: status %d and %q, want %d and %q", c.err, got, stderr.String(), c.status, c.line)
		}
	}
}

func TestNewLogger(t *testing.T) {
	for _, c := range []struct {
		options  LogOptions
		has, err string
	}{
		{options: LogOptions{}, has: "level=INFO msg=hello"},
		{options: LogOptions{Format: "json", Level: "DEBUG"}, has: `"msg":"quiet"`},
		{options: LogOptions{Level: "warn"}, has: ""},
		{options: LogOptions{Level: "loud"}, err: `log level "loud" is unknown: give debug, info, warn or error`},
		{options: LogOptions{Format: "xml"}, err: `log format "xml" is unknown: give text or json`},
	} {
		var out bytes.Buffer
		log, err := NewLogger(&out, c.options)
		if message(err) != c.err {
			t.Errorf("%+v: error %q, want %q", c.options, message(err), c.err)
		}
		if err != nil {
			continue
		}
		log.Debug("quiet")
		log.Info("hello")
		if got := out.String(); !strings.Contains(got, c.has) || c.has == "" && got != "" {
			t.Errorf("%+v: %q does not hold %q", c.options, got, c.has)
		}
	}
}

// message is what an error says, and nothing for none.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
