package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// no is a refusal for tests.
type no int

func (n no) Error() string   { return "no " + http.StatusText(int(n)) }
func (n no) HTTPStatus() int { return int(n) }

// named is a refusal with an id.
type named struct{ no }

func (named) RefusalID() string { return "not-you" }

func testMux() *Mux {
	mux := &Mux{NotFound: no(404), NotAllowed: no(405)}
	mux.Handle("GET", "/read", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.Handle("POST", "/item/{id}", func(w http.ResponseWriter, r *http.Request) { JSON(w, r, 200, r.PathValue("id")) })
	mux.Handle("GET", "/item/{id}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.Handle("GET", "/refuse", func(w http.ResponseWriter, r *http.Request) { Refuse(w, r, no(418)) })
	mux.Handle("GET", "/list", func(w http.ResponseWriter, _ *http.Request) {
		RefuseList(w, no(400), []Failure{{3, `a "b"`}})
	})
	mux.Handle("GET", "/fail", func(w http.ResponseWriter, r *http.Request) {
		Refuse(w, r, errors.New("the secret cause"))
	})
	mux.Handle("GET", "/unwritable", func(w http.ResponseWriter, r *http.Request) { JSON(w, r, 200, func() {}) })
	mux.Handle("GET", "/crash", func(http.ResponseWriter, *http.Request) { panic("the secret cause") })
	mux.Handle("GET", "/live", Livez)
	mux.Handle("GET", "/ready", Statuses(nil).Readyz(func() error { return nil }))
	mux.Handle("GET", "/unready", Statuses(nil).Readyz(func() error { return no(503) }))
	return mux
}

func TestEveryErrorIsJSON(t *testing.T) {
	var log bytes.Buffer
	handler := Wrap(testMux(), slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	for _, row := range []struct {
		request string
		status  int
		body    string
		allow   string
	}{
		{"GET /read", 200, ``, ""},
		{"HEAD /read", 200, ``, ""},
		{"POST /item/7", 200, `"7"`, ""},
		{"GET /live", 200, ``, ""},
		{"GET /ready", 200, ``, ""},
		{"GET /unready", 503, `{"code":503,"message":"no Service Unavailable"}`, ""},
		{"GET /", 404, `{"code":404,"message":"no Not Found"}`, ""},
		{"GET /read/", 404, `{"code":404,"message":"no Not Found"}`, ""},
		{"GET //read", 404, `{"code":404,"message":"no Not Found"}`, ""},
		{"GET /x/../read", 404, `{"code":404,"message":"no Not Found"}`, ""},
		{"GET /item/7/8", 404, `{"code":404,"message":"no Not Found"}`, ""},
		{"POST /read", 405, `{"code":405,"message":"no Method Not Allowed"}`, "GET, HEAD"},
		{"DELETE /item/7", 405, `{"code":405,"message":"no Method Not Allowed"}`, "GET, HEAD, POST"},
		{"GET /refuse", 418, `{"code":418,"message":"no I'm a teapot"}`, ""},
		{"GET /list", 400, `{"code":400,"message":"no Bad Request","failures":[{"index":3,"message":"a \"b\""}]}`, ""},
		{"GET /fail", 500, `{"code":500,"message":"internal error"}`, ""},
		{"GET /unwritable", 500, `{"code":500,"message":"internal error"}`, ""},
		{"GET /crash", 500, `{"code":500,"message":"internal error"}`, ""},
	} {
		method, path, _ := strings.Cut(row.request, " ")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(method, path, nil))
		if answer.Code != row.status || answer.Body.String() != row.body {
			t.Errorf("%s: %d %s, want %d %s", row.request, answer.Code, answer.Body, row.status, row.body)
		}
		if row.body != "" && answer.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: content type %q", row.request, answer.Header().Get("Content-Type"))
		}
		if got := answer.Header().Get("Allow"); got != row.allow {
			t.Errorf("%s: Allow %q, want %q", row.request, got, row.allow)
		}
	}
	if !strings.Contains(log.String(), "the secret cause") {
		t.Error("the log does not tell the cause that the answer keeps")
	}
}

func TestRequestID(t *testing.T) {
	var log bytes.Buffer
	handler := Wrap(testMux(), slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	ids := map[string]bool{}
	for _, own := range []string{"", "", "mine", strings.Repeat("x", 65)} {
		r := httptest.NewRequest("GET", "/read", nil)
		r.Header.Set("X-Request-Id", own)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		id := answer.Header().Get("X-Request-Id")
		if id == "" || len(id) > 64 || ids[id] || !strings.Contains(log.String(), "id="+id) {
			t.Errorf("sent %q: got %q, which is empty, too long, another's, or not in the log", own, id)
		}
		ids[id] = true
	}
	if !ids["mine"] {
		t.Error("the client's own id is not kept")
	}
}

// The log is silent at its usual level unless something of ours broke; a client that left is no
// fault of ours.
func TestAccessLogLevels(t *testing.T) {
	for path, loud := range map[string]bool{"/read": false, "/refuse": false, "/nowhere": false, "/fail": true,
		"/crash": true} {
		var log bytes.Buffer
		handler := Wrap(testMux(), slog.New(slog.NewTextHandler(&log, nil)))
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
		if (log.Len() > 0) != loud {
			t.Errorf("%s: log %q", path, log.String())
		}
	}
}

// watched writes down what it sees.
type watched struct {
	begun     int
	exchanges []Exchange
}

func (w *watched) Context(server context.Context) context.Context { return server }

func (w *watched) TurnAway(TurnedAway) {}

func (w *watched) Begin(r *http.Request) (context.Context, func(Exchange)) {
	w.begun++
	return context.WithValue(r.Context(), watchedKey{}, "begun"), func(e Exchange) {
		e.Took = 0
		w.exchanges = append(w.exchanges, e)
	}
}

type watchedKey struct{}

// The log and the watcher know a request by its pattern, and count the bytes of both bodies.
func TestExchanges(t *testing.T) {
	var log bytes.Buffer
	mux := testMux()
	mux.Handle("POST", "/echo/{word}", func(w http.ResponseWriter, r *http.Request) {
		body, err := ReadBody(w, r, 100)
		if err != nil || r.Context().Value(watchedKey{}) != "begun" {
			t.Errorf("%v, context %v", err, r.Context())
		}
		Bytes(w, http.StatusAccepted, "text/plain", append(body, body...))
	})
	mux.Handle("GET", "/named", func(w http.ResponseWriter, r *http.Request) {
		Refuse(w, r, fmt.Errorf("wrapped: %w", named{no(403)}))
	})
	watcher := &watched{}
	options := Options{
		Log:            slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Watcher:        watcher,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, // where httptest's requests come from
	}
	handler := options.Wrap(mux)
	for _, row := range []struct {
		request, body string
		want          Exchange
	}{
		{"POST /echo/a", "12345", Exchange{"POST", "/echo/{word}", 202, 0, 5, 10, ""}},
		{"GET /read", "", Exchange{"GET", "/read", 200, 0, 0, 0, ""}},
		{"DELETE /item/7", "12345", Exchange{"DELETE", "/item/{id}", 405, 0, 0, 46, ""}},
		{"GET /nowhere", "", Exchange{"GET", "", 404, 0, 0, 37, ""}},
		{"GET //read", "", Exchange{"GET", "", 404, 0, 0, 37, ""}},
		{"GET /crash", "", Exchange{"GET", "/crash", 500, 0, 0, 39, ""}},
		{"GET /live", "", Exchange{"GET", "/live", 200, 0, 0, 0, ""}},
		{"GET /named", "", Exchange{"GET", "/named", 403, 0, 0, 37, "not-you"}},
	} {
		log.Reset()
		method, path, _ := strings.Cut(row.request, " ")
		r := httptest.NewRequest(method, path, strings.NewReader(row.body))
		r.Header.Set("X-Forwarded-For", "198.51.100.7")
		handler.ServeHTTP(httptest.NewRecorder(), r)
		if got := watcher.exchanges[len(watcher.exchanges)-1]; got != row.want {
			t.Errorf("%s: %+v, want %+v", row.request, got, row.want)
		}
		for _, part := range []string{
			"client=198.51.100.7", "method=" + method, "path=" + path, "pattern=", fmt.Sprint("status=", row.want.Status),
			"took=",
			fmt.Sprint("received=", row.want.Received), fmt.Sprint("sent=", row.want.Sent), "id=",
		} {
			if !strings.Contains(log.String(), part) {
				t.Errorf("%s: the log has no %s: %s", row.request, part, log.String())
			}
		}
		if named := strings.Contains(log.String(), "refusal=not-you"); named != (row.want.Refusal != "") {
			t.Errorf("%s: the log names the refusal: %v", row.request, named)
		}
	}
	if watcher.begun != len(watcher.exchanges) {
		t.Errorf("%d begun, %d done", watcher.begun, len(watcher.exchanges))
	}
}

// BenchmarkWrap shows what the wrapper costs a request beside the operation.
func BenchmarkWrap(b *testing.B) {
	handler := Wrap(testMux(), slog.New(slog.DiscardHandler))
	r := httptest.NewRequest("GET", "/read", nil)
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
}

// A service whose errors have another form says so to the mux, and tells the access log what was
// its own fault.
func TestAnswersInAnotherForm(t *testing.T) {
	var log bytes.Buffer
	mux := &Mux{NotFound: no(404), NotAllowed: no(405), Answer: func(w http.ResponseWriter, _ *http.Request, err error) {
		Bytes(w, http.StatusTeapot, "text/plain", []byte(err.Error()))
	}}
	mux.Handle("POST", "/{$}", func(w http.ResponseWriter, _ *http.Request) {
		SetCause(w, errors.New("first cause"))
		SetCause(w, errors.New("second cause"))
		Bytes(w, http.StatusOK, "text/plain", []byte("sorry"))
	})
	handler := Wrap(mux, slog.New(slog.NewTextHandler(&log, nil)))
	for request, want := range map[string]string{"GET /": "no Method Not Allowed", "GET /x//y": "no Not Found",
		"POST /": "sorry"} {
		method, path, _ := strings.Cut(request, " ")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(method, path, nil))
		if answer.Body.String() != want {
			t.Errorf("%s: %s, want %s", request, answer.Body, want)
		}
	}
	if !strings.Contains(log.String(), `cause="first cause\nsecond cause"`) {
		t.Errorf("the log has not both causes: %s", &log)
	}
	SetCause(httptest.NewRecorder(), errors.New("nobody records"))
}
