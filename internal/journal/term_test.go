package journal

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// A fact that an owner sends after its term is left out by all who read: those that begin before it
// is there, and those that come later, wherever they begin; also for facts of some subjects.
func TestFactsOfATermThatIsOverAreLeftOut(t *testing.T) {
	cluster := startCluster(t, maxValue).ClientURL()
	old, next, reader := open(t, Config{URL: cluster}), open(t, Config{URL: cluster}), open(t, Config{URL: cluster})
	seen := make(chan string, 100)
	go func() {
		_ = reader.Read(t.Context(), 1, func(_ uint64, _ time.Time, _ string, data []byte) error {
			seen <- string(data)
			return nil
		})
	}()
	appends := func(j *Journal, subject, data string) (place uint64) {
		t.Helper()
		place, err := j.Append(t.Context(), subject, []byte(data))
		if err != nil {
			t.Fatal(err)
		}
		return place
	}
	begins := func(j *Journal, number uint64) {
		t.Helper()
		if err := j.BeginTerm(t.Context(), "rpc", number); err != nil {
			t.Fatal(err)
		}
	}
	appends(old, "rpc.order", "without a term")
	begins(old, 4)
	appends(old, "rpc.order", "4 in time")
	begins(next, 5)
	if err := old.BeginTerm(t.Context(), "rpc", 5); err == nil {
		t.Error("a term begins twice")
	}
	// A mark that was long on its way marks nothing.
	if _, err := old.js.PublishMsg(t.Context(), &nats.Msg{Subject: factPrefix + termSubject + "rpc",
		Header: old.term.header}); err != nil {
		t.Fatal(err)
	}
	appends(next, "rpc.order", "5")
	from := appends(old, "rpc.order", "4 too late")
	told := make(chan error, 1)
	if err := old.AppendAcked("rpc.cancel", []byte("4 too late, acked"), "", func(err error) { told <- err }); err != nil {
		t.Fatal(err)
	}
	if err := <-told; err != nil {
		t.Fatal(err)
	}
	appends(reader, "relay.bid", "of another product")
	appends(next, "rpc.order", "5 again")

	want := []string{"without a term", "4 in time", "5", "of another product", "5 again"}
	var got []string
	for range want {
		got = append(got, <-seen)
	}
	if !slices.Equal(got, want) {
		t.Errorf("read %q", got)
	}
	for _, c := range []struct {
		from     uint64
		subjects []string
		want     []string
	}{
		{1, []string{"rpc.>"}, []string{"without a term", "4 in time", "5", "5 again"}},
		{1, []string{">"}, want},
		{1, []string{"rpc.cancel"}, nil},
		{from, []string{"rpc.order"}, []string{"5 again"}},
	} {
		var past []string
		err := reader.Past(t.Context(), c.from, c.subjects, func(_ time.Time, _ string, data []byte) error {
			past = append(past, string(data))
			return nil
		})
		if err != nil || !slices.Equal(past, c.want) {
			t.Errorf("%v from %d: %q, %v", c.subjects, c.from, past, err)
		}
	}
	if _, _, err := next.LastWithSeq(t.Context(), "rpc.cancel"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the newest fact of another term: %v", err)
	}
}

// A request goes to who answers its subject. Without one that is certain at once.
func TestAsk(t *testing.T) {
	cluster := startCluster(t, maxValue).ClientURL()
	here, there := open(t, Config{URL: cluster}), open(t, Config{URL: cluster})
	if _, err := here.Ask(t.Context(), "rpc.1", []byte("question")); !errors.Is(err, ErrNobody) {
		t.Errorf("nobody there: %v", err)
	}
	answering, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	running, goOn := make(chan bool), make(chan bool)
	go func() {
		ended <- there.Answer(answering, "rpc.1", 2, func(_ context.Context, request []byte) []byte {
			if string(request) == "slow" {
				running <- true
				<-goOn
			}
			return append([]byte("answer to "), request...)
		})
	}()
	ask := func(question string) (string, error) {
		for { // until somebody answers
			answer, err := here.Ask(t.Context(), "rpc.1", []byte(question))
			if !errors.Is(err, ErrNobody) {
				return string(answer), err
			}
		}
	}
	if answer, err := ask("question"); err != nil || answer != "answer to question" {
		t.Errorf("%q, %v", answer, err)
	}
	slow := make(chan string)
	go func() {
		answer, _ := ask("slow")
		slow <- answer
	}()
	<-running
	stop()
	goOn <- true
	if answer := <-slow; answer != "answer to slow" {
		t.Errorf("what had begun when it ended: %q", answer)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := here.Ask(t.Context(), "rpc.1", nil); !errors.Is(err, ErrNobody) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := here.Ask(t.Context(), "rpc.1", make([]byte, maxValue)); !errors.Is(err, ErrTooLong) {
		t.Errorf("more than a message: %v", err)
	}
}
