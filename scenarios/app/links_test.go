package app

import (
	"slices"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/scenarios"
	"github.com/gavel-relay/gavel/scenarios/fault"
)

// A fault is on the connections that its name means, and on no others; several add up, and end one
// by one.
func TestWhichConnectionsAFaultIsOn(t *testing.T) {
	const yes, no = true, false
	connections := []scenarios.Link{
		{From: "builder-1", To: "relay-1"}, {From: "builder-1", To: "relay-2"}, {From: "builder-2", To: "relay-1"},
		{From: "proposers", To: "relay-1"}, {From: "proposers", To: "beacon"}, {From: "relay-1", To: "beacon"},
		{From: "rpc", To: "builder-1"},
	}
	for _, c := range []struct {
		on   scenarios.Link
		want [7]bool
	}{
		{scenarios.Link{From: "builder-1", To: "relay-1"}, [7]bool{yes, no, no, no, no, no, no}},
		{scenarios.Link{To: "relay-1"}, [7]bool{yes, no, yes, yes, no, no, no}},
		{scenarios.Link{From: "builders", To: "relays"}, [7]bool{yes, yes, yes, no, no, no, no}},
		{scenarios.Link{To: "builder-1"}, [7]bool{yes, yes, no, no, no, no, yes}},
		{scenarios.Link{From: "rpc", To: "builders"}, [7]bool{no, no, no, no, no, no, yes}},
		{scenarios.Link{To: "proposers"}, [7]bool{no, no, no, yes, yes, no, no}},
		{scenarios.Link{To: "beacon"}, [7]bool{no, no, no, no, yes, yes, no}},
		{scenarios.Link{From: "relay-1", To: "beacon"}, [7]bool{no, no, no, no, no, yes, no}},
	} {
		l := newLinks(&scenarios.Plan{Speed: 8})
		begin(t, l, c.on, fault.Condition{Reset: true})
		for i, connection := range connections {
			if got := l.conditionOf(connection).Reset; got != c.want[i] {
				t.Errorf("a fault on %q is on %q: %v", c.on, connection, got)
			}
		}
		end(t, l)
		if got := l.conditionOf(connections[0]); got != (fault.Condition{}) {
			t.Errorf("after its end: %+v", got)
		}
	}
}

// Latency is chain time, which passes faster on the wall; it is there with a fault and after it.
func TestLatencyAndFaultAddUp(t *testing.T) {
	link := scenarios.Link{From: "builder-1", To: "relay-1"}
	l := newLinks(&scenarios.Plan{Speed: 8, Latencies: []scenarios.Latency{{On: link, Time: 80 * time.Millisecond}}})
	begin(t, l, scenarios.Link{To: "relay-1"}, fault.Condition{Latency: time.Millisecond, Partition: true})
	if got, want := l.conditionOf(link), (fault.Condition{Latency: 11 * time.Millisecond, Partition: true}); got != want {
		t.Errorf("%+v", got)
	}
	end(t, l)
	if got, want := l.conditionOf(link), (fault.Condition{Latency: 10 * time.Millisecond}); got != want {
		t.Errorf("%+v", got)
	}
}

// A relay reaches each server of its journal by a wire of its own, the same after a restart; a
// fault on its way is on all of them, and on no other relay's.
func TestWaysToAJournal(t *testing.T) {
	far := scenarios.Link{From: "relay-2", To: scenarios.JournalName}
	l := newLinks(&scenarios.Plan{Speed: 8, Latencies: []scenarios.Latency{{On: far, Time: 80 * time.Millisecond}}})
	defer func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
	}()
	servers := []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}
	ways := map[string][]string{}
	for _, relay := range []string{"relay-1", "relay-2", "relay-1", "relay-2"} {
		got, err := l.toJournal(relay, servers)
		if err != nil {
			t.Fatal(err)
		}
		if before := ways[relay]; before != nil && !slices.Equal(before, got) || len(got) != len(servers) {
			t.Errorf("%s goes by %v, and then by %v", relay, before, got)
		}
		ways[relay] = got
	}
	begin(t, l, scenarios.Link{From: "relays", To: scenarios.JournalName}, fault.Condition{Partition: true})
	for relay, want := range map[string]time.Duration{"relay-1": 0, "relay-2": 10 * time.Millisecond} {
		for _, wire := range l.wires[relay] {
			if got := wire.Condition(); got != (fault.Condition{Latency: want, Partition: true}) {
				t.Errorf("%s: %+v", relay, got)
			}
		}
	}
	end(t, l)
	if got := l.wires["relay-1"][2].Condition(); got != (fault.Condition{}) {
		t.Errorf("after the end: %+v", got)
	}
}

// begin and end are of a fault with the number 1.
func begin(t *testing.T, l *links, on scenarios.Link, is fault.Condition) {
	t.Helper()
	if err := l.begin(1, on, is); err != nil {
		t.Error(err)
	}
}

func end(t *testing.T, l *links) {
	t.Helper()
	if err := l.end(1); err != nil {
		t.Error(err)
	}
}
