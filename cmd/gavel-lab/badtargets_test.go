package main

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// badTargets are servers that no conformance run may wait for: none of them ever gives a whole
// answer, but for the one that only redirects and the one that takes two seconds.
var badTargets = map[string]http.HandlerFunc{
	"HANG": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	"DRIP": func(w http.ResponseWriter, r *http.Request) {
		for every := time.NewTicker(100 * time.Millisecond); ; {
			_, _ = fmt.Fprint(w, "{")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
				every.Stop()
				return
			case <-every.C:
			}
		}
	},
	"CLOSE":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"REDIRECT": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
	"GARBAGE": func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		noise := make([]byte, 512)
		_, _ = rand.Read(noise)
		_, _ = connection.Write(noise)
		_ = connection.Close()
	},
	"ENDLESS": func(w http.ResponseWriter, r *http.Request) {
		page := make([]byte, 1<<16)
		for r.Context().Err() == nil {
			if _, err := w.Write(page); err != nil {
				return
			}
		}
	},
	"SLOW": func(w http.ResponseWriter, r *http.Request) {
		wait := time.NewTimer(2 * time.Second)
		defer wait.Stop()
		select {
		case <-r.Context().Done():
		case <-wait.C:
			w.WriteHeader(http.StatusOK)
		}
	},
}

// openBadTargets starts all of them, and one that nobody answers for although it accepts
// connections.
func openBadTargets(t *testing.T) map[string]string {
	t.Helper()
	addresses := map[string]string{}
	for name, handler := range badTargets {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		t.Cleanup(server.CloseClientConnections)
		addresses[name] = server.URL
	}
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var held []net.Conn
	go func() {
		for {
			connection, err := mute.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			held = append(held, connection)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = mute.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, connection := range held {
			_ = connection.Close()
		}
	})
	addresses["MUTE"] = "http://" + mute.Addr().String()
	return addresses
}
