package world

import (
	"context"
	"testing"
)

// Running is a world that runs until the test ends, and a client that steers it.
func Running(t *testing.T, cfg Config) (*World, *Client) {
	t.Helper()
	w, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	client, err := Dial(ctx, w.URL)
	if err != nil {
		t.Fatal(err)
	}
	return w, client
}
