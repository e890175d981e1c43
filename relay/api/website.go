package api

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/web"
)

// Auctions are the newest auctions, as the website shows them.
type Auctions interface {
	// Shown returns what may be shown now of a slot's auction; false if nothing is known of it.
	Shown(slot phase0.Slot) (web.Shown, bool)
}

// WebsiteConfig are the ports of the website.
type WebsiteConfig struct {
	Clock    clock.Clock
	Archive  Archive
	Auctions Auctions
	Policy   *web.Policy
	// Status is what the first page says of the relay.
	Status func() web.Status
	// Live is the auction that runs; without it the first page shows none.
	Live LiveAuction
	// Address returns whom a request counts for.
	Address func(*http.Request) string
}

// Rows of the lists, which bound what a page reads of the archive.
const (
	websiteDelivered = 100
	websiteReceived  = 500
)

// MountWebsite adds the pages to a mux, each also as Markdown and as JSON.
func MountWebsite(mux *serve.Mux, cfg WebsiteConfig) {
	site := &website{WebsiteConfig: cfg}
	if cfg.Live != nil {
		mux.Handle(http.MethodGet, "/live", site.follow)
	}
	for path, make := range map[string]func(*http.Request) (web.Page, error){
		"/": site.landing, "/slot/{slot}": site.slot, "/builder/{pubkey}": site.builder,
		"/proposer/{pubkey}": site.proposer,
	} {
		page := path
		if path == "/" {
			page = "/{$}"
		}
		mux.Handle(http.MethodGet, page, site.answer(make, asHTML))
		path = strings.TrimSuffix(path, "/")
		mux.Handle(http.MethodGet, path+"/md", site.answer(make, asMarkdown))
		mux.Handle(http.MethodGet, path+"/json", site.answer(make, asJSON))
	}
	mux.Handle(http.MethodGet, "/find", site.find)
}

type website struct {
	WebsiteConfig

	viewers viewers
}

// written writes a page in one form.
type written func(page *web.Page) (contentType string, raw []byte, err error)

// answer returns the handler of a page in one form. Refusals are pages, too, for who looks at them
// with a browser.
func (s *website) answer(make func(*http.Request) (web.Page, error), form written) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		page, err := make(r)
		status := http.StatusOK
		if err != nil {
			var refused *relay.Refused
			if !errors.As(err, &refused) {
				Refuse(w, r, err)
				return
			}
			status = Statuses.Of(refused).HTTPStatus()
			serve.Named(w, refused.ID)
			page = web.Page{Title: http.StatusText(status), Notes: []string{refused.Error()}}
		}
		page.Sort(r.URL.Query().Get("sort"))
		contentType, raw, err := form(&page)
		if err != nil {
			Refuse(w, r, fmt.Errorf("write the page: %w", err))
			return
		}
		header := w.Header()
		header.Set("Content-Security-Policy", websitePolicy)
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", map[bool]string{true: "public, max-age=3600", false: "no-cache"}[page.Fixed])
		header.Set("Content-Length", strconv.Itoa(len(raw)))
		serve.Bytes(w, status, contentType, raw)
	}
}

func asMarkdown(page *web.Page) (string, []byte, error) {
	return "text/markdown; charset=utf-8", []byte(page.Markdown()), nil
}

func asJSON(page *web.Page) (string, []byte, error) {
	raw, err := json.Marshal(page)
	return "application/json", raw, err
}

// Style and script stand in each page, and the policy allows these two by their hashes, and nothing
// else: no page asks another server for anything.
var (
	//go:embed website/page.html
	websiteHTML string
	//go:embed website/page.css
	websiteCSS string
	//go:embed website/live.js
	websiteJS string

	websiteTemplate = template.Must(template.New("page").Parse(websiteHTML))
	websitePolicy   = serve.PagePolicy(websiteCSS, websiteJS, "'self'")
)

func asHTML(page *web.Page) (string, []byte, error) {
	var body bytes.Buffer
	err := websiteTemplate.Execute(&body, struct {
		*web.Page
		Base   string // the path to which /md and /json are added
		Style  template.CSS
		Script template.JS
	}{page, strings.TrimSuffix(page.Path, "/"), template.CSS(websiteCSS), template.JS(websiteJS)})
	return "text/html; charset=utf-8", body.Bytes(), err
}

// landing is the first page.
func (s *website) landing(r *http.Request) (web.Page, error) {
	delivered, err := s.Archive.Delivered(r.Context(), relay.TraceQuery{Limit: websiteDelivered})
	if err != nil {
		return web.Page{}, err
	}
	page := s.Policy.Landing(s.Status(), delivered)
	page.Live = s.Live != nil
	return page, nil
}

// slot is the page of one auction: from memory if it is new, else from the archive.
func (s *website) slot(r *http.Request) (web.Page, error) {
	number, err := eth.ParseDecimal(r.PathValue("slot"), 63)
	if err != nil {
		return web.Page{}, relay.InvalidSlot.With("%.90q", r.PathValue("slot"))
	}
	slot := phase0.Slot(number)
	shown, known := s.Auctions.Shown(slot)
	if known {
		return s.Policy.SlotPage(shown), nil
	}
	if !shown.Over { // the archive may have bids that the policy holds back
		return web.Page{}, relay.NotFound.Plain()
	}
	query := relay.TraceQuery{Slot: &slot, Limit: websiteReceived}
	received, err := s.Archive.Received(r.Context(), query)
	if err != nil {
		return web.Page{}, err
	}
	delivered, err := s.Archive.Delivered(r.Context(), query)
	if err != nil {
		return web.Page{}, err
	}
	if len(received)+len(delivered) == 0 {
		return web.Page{}, relay.NotFound.Plain()
	}
	return s.Policy.ArchivedSlotPage(slot, delivered, received), nil
}

// builder is the page of one builder.
func (s *website) builder(r *http.Request) (web.Page, error) {
	key, err := keyOf(r)
	if err != nil {
		return web.Page{}, err
	}
	delivered, err := s.Archive.Delivered(r.Context(), relay.TraceQuery{Builder: &key, Limit: websiteDelivered})
	if err != nil {
		return web.Page{}, err
	}
	received, err := s.Archive.Received(r.Context(), relay.TraceQuery{Builder: &key, Limit: websiteReceived})
	if err != nil {
		return web.Page{}, err
	}
	return s.Policy.BuilderPage(key, delivered, received, s.Clock.Now()), nil
}

// proposer is the page of one proposer, and where its registration is looked up.
func (s *website) proposer(r *http.Request) (web.Page, error) {
	key, err := keyOf(r)
	if err != nil {
		return web.Page{}, err
	}
	registration, err := s.Archive.Registration(r.Context(), key)
	if err != nil {
		return web.Page{}, err
	}
	delivered, err := s.Archive.Delivered(r.Context(), relay.TraceQuery{Proposer: &key, Limit: websiteDelivered})
	if err != nil {
		return web.Page{}, err
	}
	return s.Policy.ProposerPage(key, registration, delivered), nil
}

func keyOf(r *http.Request) (key phase0.BLSPubKey, err error) {
	if err := eth.ParseHex(r.PathValue("pubkey"), key[:]); err != nil {
		return key, relay.InvalidPubkey.With("%v", err)
	}
	return key, nil
}

// find leads from what somebody typed to its page: a slot, the key of a proposer, or that of a
// builder.
func (s *website) find(w http.ResponseWriter, r *http.Request) {
	text := strings.TrimSpace(r.URL.Query().Get("q"))
	to, err := s.found(r.Context(), text)
	if err != nil {
		s.answer(func(*http.Request) (web.Page, error) { return web.Page{}, err }, asHTML)(w, r)
		return
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

// found returns the address of a page.
func (s *website) found(ctx context.Context, text string) (string, error) {
	if slot, err := eth.ParseDecimal(text, 63); err == nil {
		return "/slot/" + strconv.FormatUint(slot, 10), nil
	}
	var key phase0.BLSPubKey
	if err := eth.ParseHex(text, key[:]); err != nil {
		return "", relay.InvalidArgument.With("%.90q is neither a slot nor a public key", text)
	}
	registration, err := s.Archive.Registration(ctx, key)
	if err != nil {
		return "", err
	}
	delivered, err := s.Archive.Delivered(ctx, relay.TraceQuery{Builder: &key, Limit: 1})
	if err != nil {
		return "", err
	}
	if registration == nil && len(delivered) > 0 {
		return "/builder/" + lowerHex(key[:]), nil
	}
	return "/proposer/" + lowerHex(key[:]), nil
}
