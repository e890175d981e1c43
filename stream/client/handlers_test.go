package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
)

// Handlers hear the events of their kind, in their order, and one that is no event is for Broken.
func TestHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hash = `"hash":"0x0000000000000000000000000000000000000000000000000000000000000001"`
		event := func(txs string) string { return "data: {" + hash + `,"logs":null,"txs":` + txs + "}\n\n" }
		service := &script{answers: []answer{
			{status: 200, body: lines(event("null") + event("[{}]") + event("[{},{}]") + "data: {\"hash\":7}\n\n" +
				event("[]"))},
			{status: 404, body: lines("gone")},
		}}
		c, err := New("http://stream.example", Options{HTTP: &http.Client{Transport: service}})
		if err != nil {
			t.Fatal(err)
		}
		var heard string
		err = c.Handle(t.Context(), Handlers{
			Transaction: func(e Event) { heard += fmt.Sprintf("transaction of %d, ", len(e.Txs)) },
			Bundle:      func(e Event) { heard += fmt.Sprintf("bundle of %d, ", len(e.Txs)) },
			Broken:      func(e Event, _ error) { heard += fmt.Sprintf("broken %s, ", e.Raw) },
		})
		if want := `transaction of 0, transaction of 1, bundle of 2, broken {"hash":7}, transaction of 0, `; heard != want {
			t.Errorf("heard %s, want %s", heard, want)
		}
		if status := (*StatusError)(nil); !errors.As(err, &status) || status.Status != 404 {
			t.Errorf("it ends with %v", err)
		}
	})
}

// Nobody has to listen to both kinds, and the end of the context is the end.
func TestHandleOneKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &script{answers: []answer{{status: 200, body: lines(full(1) + "data: {\"hash\":7}\n\n")}, {status: 200}}}
		c, err := New("http://stream.example", Options{HTTP: &http.Client{Transport: service}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		go func() { synctest.Wait(); cancel(enough) }()
		if err := c.Handle(ctx, Handlers{Bundle: func(e Event) {
			t.Errorf("%s is a bundle", e.Raw)
		}}); !errors.Is(err, enough) {
			t.Errorf("it ends with %v", err)
		}
	})
}
