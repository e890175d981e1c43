package main

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/serve"
)

// While a service waits for others, both doors answer at once; then they are the service's, which
// misses no connection.
func TestDoorsAnswerWhileTheServiceOpens(t *testing.T) {
	d, err := openDoors("127.0.0.1:0", "127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	ask := func(at, path string) (int, string) {
		t.Helper()
		response, err := http.Get("http://" + at + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	public, admin := d.public.Addr().String(), d.admin.Addr().String()
	err = d.whileOpening("a beacon node (--beacon)", func(tell func(string)) error {
		for _, url := range [][2]string{{public, "/eth/v1/builder/status"}, {public, "/readyz"}, {admin, "/metrics"},
			{admin, "/admin/v1/status"}} {
			if status, body := ask(url[0], url[1]); status != http.StatusServiceUnavailable ||
				!strings.Contains(body, "waits for a beacon node (--beacon)") {
				t.Errorf("%s: %d %s", url[1], status, body)
			}
		}
		if status, _ := ask(public, "/livez"); status != http.StatusOK {
			t.Errorf("/livez: %d", status)
		}
		tell("a leader")
		if _, body := ask(admin, "/readyz"); !strings.Contains(body, "waits for a leader") {
			t.Errorf("/readyz: %s, want what is waited for now", body)
		}
		tell("")
		if _, body := ask(admin, "/readyz"); !strings.Contains(body, "waits for a beacon node") {
			t.Errorf("/readyz: %s, want what is waited for now", body)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(serve.Livez)}
	ended := make(chan error)
	go func() { ended <- server.Serve(d.public) }()
	for range 3 {
		if status, _ := ask(public, "/readyz"); status != http.StatusOK {
			t.Errorf("the service does not answer: %d", status)
		}
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	boom := errors.New("boom")
	other, err := openDoors("127.0.0.1:0", "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if err := other.whileOpening("x", func(func(string)) error { return boom }); !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
}
