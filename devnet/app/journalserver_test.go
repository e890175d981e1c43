package app

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// A machine with a full disk still runs stories whose journals stay small: what a stream may take
// is no reason to refuse it.
func TestJournalServerKeepsStreamsWhateverTheDiskHas(t *testing.T) {
	journal, err := OpenJournalServer(server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := journal.Close(); err != nil {
			t.Error(err)
		}
	}()
	conn, err := nats.Connect(journal.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	streams, err := conn.JetStream(nats.MaxWait(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := streams.AddStream(&nats.StreamConfig{
		Name: "LARGE", Subjects: []string{"large"}, MaxBytes: 256 << 40,
	}); err != nil {
		t.Fatal(err)
	}
}
