package serve

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A thousand clients that announce much, or pack it, get no more memory together than is meant for bodies.
func TestBudget(t *testing.T) {
	post := func(length int64, encoding string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("x"))
		r.ContentLength = length
		r.Header.Set("Content-Encoding", encoding)
		return r
	}
	budget := NewBudget(100)
	small, err := budget.Take(post(30, ""), 80)
	if err != nil {
		t.Fatal(err)
	}
	for _, greedy := range []*http.Request{post(-1, ""), post(1, "gzip"), post(71, "identity"), post(1<<40, "")} {
		if _, err := budget.Take(greedy, 80); !errors.Is(err, ErrBusy) {
			t.Errorf("%d bytes in %q: %v", greedy.ContentLength, greedy.Header.Get("Content-Encoding"), err)
		}
	}
	small()
	packed, err := budget.Take(post(1, "gzip"), 80)
	if err != nil {
		t.Fatalf("although all was given back: %v", err)
	}
	packed()
	if all, err := budget.Take(post(100, ""), 100); err != nil {
		t.Error(err)
	} else {
		all()
	}
	if _, err := (*Budget)(nil).Take(post(1<<40, ""), 1<<40); err != nil {
		t.Errorf("without a budget: %v", err)
	}
}
