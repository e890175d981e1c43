package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"

	"github.com/gavel-relay/gavel/devnet/browser"
	"github.com/gavel-relay/gavel/devnet/timeline"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/scenarios"
)

// Page shows runs to browsers while they go on, at one address: the run that began last. It is safe
// for concurrent use.
type Page struct {
	listener net.Listener

	mu    sync.Mutex // guards what follows
	board *browser.Board
	shown http.Handler // the board's
}

// OpenPage opens the page's port on this machine; 0 takes any free one.
func OpenPage(port int) (*Page, error) {
	listener, err := serve.Listen(net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("web-port: %w", err)
	}
	p := &Page{listener: listener}
	p.show(timeline.About{Title: "gavel scenarios", Why: "No run has begun yet."})
	return p, nil
}

// URL is where browsers find it.
func (p *Page) URL() string { return "http://" + p.listener.Addr().String() + "/" }

// Serve answers browsers until the context ends.
func (p *Page) Serve(ctx context.Context, log *slog.Logger) error {
	answer := func(w http.ResponseWriter, r *http.Request) { p.now().ServeHTTP(w, r) }
	return serve.Serve(ctx, p.listener, http.HandlerFunc(answer), serve.Options{Log: log})
}

func (p *Page) now() http.Handler {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown
}

// show begins a new board. Who follows the one before is told to come again.
func (p *Page) show(about timeline.About) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.board != nil {
		p.board.End("The next run has begun: load the page again.")
	}
	p.board = browser.New(about)
	p.shown = p.board.Handler()
}

// begin shows a run from its beginning.
func (p *Page) begin(plan *scenarios.Plan, variant string, without bool) {
	about := newTimeline(plan, describe(plan)).About
	about.Title = titleOf(plan, variant, without)
	for _, one := range plan.Expect {
		about.Expected = append(about.Expected, one.Text)
	}
	if without {
		about.Notes = append(about.Notes, "This run is without what the story is about: an expectation must not be met.")
	}
	p.show(about)
}

func (p *Page) fact(r scenarios.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.board.Add(timelineFact(r))
}

// end says how a scenario ended, below the run that was its last.
func (p *Page) end(result Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.board.Judge(verdictsOf(result.last()))
	p.board.End(result.Name + " " + result.verdict() + ".")
}
