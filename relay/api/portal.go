package api

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/web"
)

// PortalConfig are the ports of the operator's page. It has the operations of the admin API behind
// a log-in with the same token.
type PortalConfig struct {
	AdminConfig

	// State is what the page shows.
	State func(context.Context) web.Portal
	// Log gets log-ins and what is done. It may be nil.
	Log *slog.Logger
}

// Bounds of log-ins: tries of one address, one in ten seconds, and of all, one a second.
const (
	loginsPerSecond, loginBurst       = 0.1, 5
	allLoginsPerSecond, allLoginBurst = 1, 30
)

// MountPortal adds the operator's page to a mux.
//
//	GET /operator ─no session─▶ form of the token ─POST login─▶ session in a cookie
//	              ─session────▶ page ─POST promote, suspend, kill-switch: cookie, form's value, reason─▶ admin operations
func MountPortal(mux *serve.Mux, cfg PortalConfig) {
	p := &portal{adminHandlers: adminHandlers{cfg.AdminConfig}, cfg: cfg, origin: http.NewCrossOriginProtection(),
		tries: serve.NewLimiter(loginsPerSecond, loginBurst, 1024),
		all:   serve.NewLimiter(allLoginsPerSecond, allLoginBurst, 1)}
	if p.cfg.Log == nil {
		p.cfg.Log = slog.New(slog.DiscardHandler)
	}
	mux.Handle(http.MethodGet, "/operator", p.page)
	mux.Handle(http.MethodGet, "/operator/evidence/{block_hash}", p.evidence)
	mux.Handle(http.MethodPost, "/operator/login", p.login)
	mux.Handle(http.MethodPost, "/operator/logout", p.acting(p.logout))
	mux.Handle(http.MethodPost, "/operator/promote", p.acting(p.reasoned(p.promote)))
	mux.Handle(http.MethodPost, "/operator/suspend", p.acting(p.reasoned(p.suspend)))
	mux.Handle(http.MethodPost, "/operator/kill-switch", p.acting(p.reasoned(p.turn)))
}

type portal struct {
	adminHandlers

	cfg        PortalConfig
	sessions   sessions
	origin     *http.CrossOriginProtection
	tries, all *serve.Limiter
}

// The page has no script, and its policy allows none.
var (
	//go:embed website/portal.html
	portalHTML string
	//go:embed website/portal.css
	portalCSS string

	portalTemplate = template.Must(template.New("portal").Parse(portalHTML))
	portalStyle    = websiteCSS + portalCSS
	portalPolicy   = serve.PagePolicy(portalStyle, "", "'self'")
)

// portalView is what the template gets: a refusal, the form of the token, or the page.
type portalView struct {
	Style   template.CSS
	Problem string
	// LoggedIn says whether Page is there; Form is the value that its forms carry.
	LoggedIn   bool
	Form       string
	Page       web.Page
	Builders   []web.BuilderRow
	Columns    []string
	KillSwitch bool
	Settings   string
}

// page answers with the page of a session, or with the form of the token.
func (p *portal) page(w http.ResponseWriter, r *http.Request) {
	view := portalView{}
	if view.Form, view.LoggedIn = p.sessions.of(r, p.Clock.Now()); view.LoggedIn {
		state := p.cfg.State(r.Context())
		view.Page, view.Builders, view.Columns = state.Page(), state.BuilderRows(), web.BuilderColumns
		view.KillSwitch, view.Settings = state.KillSwitch, state.Settings
	}
	p.write(w, r, http.StatusOK, view)
}

func (p *portal) write(w http.ResponseWriter, r *http.Request, status int, view portalView) {
	view.Style = template.CSS(portalStyle)
	var body bytes.Buffer
	if err := portalTemplate.Execute(&body, view); err != nil {
		Refuse(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Content-Security-Policy", portalPolicy)
	// With no-referrer, browsers would hide the origin of the page's own forms.
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Length", strconv.Itoa(body.Len()))
	serve.Bytes(w, status, "text/html; charset=utf-8", body.Bytes())
}

// refuse answers with a page that says why not.
func (p *portal) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var refused *relay.Refused
	if !errors.As(err, &refused) {
		Refuse(w, r, err)
		return
	}
	serve.Named(w, refused.ID)
	p.write(w, r, Statuses.Of(refused).HTTPStatus(), portalView{Problem: refused.Error() + ". " + refused.Long})
}

// evidence answers a session with the block of a demotion, as the admin API does.
func (p *portal) evidence(w http.ResponseWriter, r *http.Request) {
	if _, found := p.sessions.of(r, p.Clock.Now()); !found {
		p.refuse(w, r, relay.AdminToken.Plain())
		return
	}
	w.Header().Set("Content-Disposition", `attachment; filename="submission.ssz"`)
	w.Header().Set("Cache-Control", "no-store")
	p.submission(w, r)
}

// fields reads a form that was sent by a page of this origin.
func (p *portal) fields(w http.ResponseWriter, r *http.Request) (url.Values, *relay.Refused) {
	if err := p.origin.Check(r); err != nil {
		return nil, relay.AdminForm.With("%v", err)
	}
	if media, ok := serve.ContentType(r); !ok || media != "application/x-www-form-urlencoded" {
		return nil, relay.UnsupportedMediaType.With("%.90q", r.Header.Get("Content-Type"))
	}
	body, refused := Body(w, r, maxPortalForm)
	if refused != nil {
		return nil, refused
	}
	fields, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, relay.Malformed.With("%v", err)
	}
	return fields, nil
}

// maxPortalForm bounds a form, in bytes.
const maxPortalForm = 16 << 10

// login opens a session for who has the token. It counts tries, those that fail and those that do
// not, before it looks at the token.
func (p *portal) login(w http.ResponseWriter, r *http.Request) {
	fields, refused := p.fields(w, r)
	if refused != nil {
		p.refuse(w, r, refused)
		return
	}
	at, address := p.Clock.Now(), serve.ByClient(nil)(r)
	ok, wait := p.tries.Allow(at, address)
	if ok {
		ok, wait = p.all.Allow(at, "all")
	}
	if !ok {
		p.cfg.Log.Warn("too many log-ins of operators", "client", address)
		w.Header().Set("Retry-After", serve.RetrySeconds(wait))
		p.refuse(w, r, relay.AdminLogins.Plain())
		return
	}
	if !same(fields.Get("token"), p.Token) {
		p.cfg.Log.Warn("an operator's log-in with a wrong token", "client", address)
		w.Header().Set("WWW-Authenticate", "Bearer")
		p.refuse(w, r, relay.AdminToken.Plain())
		return
	}
	p.sessions.end(r) // the browser's earlier one
	setCookie(w, r, p.sessions.start(at))
	p.cfg.Log.Info("an operator has logged in", "client", address)
	seeOther(w)
}

// seeOther sends the browser to the page, which it may load again without sending a form again.
func seeOther(w http.ResponseWriter) {
	w.Header().Set("Location", "/operator")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
}

// action does what a form of the page asks for.
type action func(w http.ResponseWriter, r *http.Request, fields url.Values) error

// acting lets a form through that has a session's cookie, and the value that this session's page
// has put into it. Other sites can cause neither.
func (p *portal) acting(do action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		want, found := p.sessions.of(r, p.Clock.Now())
		if !found {
			w.Header().Set("WWW-Authenticate", "Bearer")
			p.refuse(w, r, relay.AdminToken.With("log in again"))
			return
		}
		fields, refused := p.fields(w, r)
		if refused == nil && !same(fields.Get("form"), want) {
			refused = relay.AdminForm.Plain()
		}
		if refused != nil {
			p.refuse(w, r, refused)
			return
		}
		if err := do(w, r, fields); err != nil {
			p.refuse(w, r, err)
			return
		}
		seeOther(w)
	}
}

// logout ends the session.
func (p *portal) logout(w http.ResponseWriter, r *http.Request, _ url.Values) error {
	p.sessions.end(r)
	setCookie(w, r, "")
	return nil
}

// reasoned asks for the reason of a change, which becomes part of its fact, and waits until the
// change is stored.
func (p *portal) reasoned(do func(at time.Time, fields url.Values, why string) error) action {
	return func(_ http.ResponseWriter, r *http.Request, fields url.Values) error {
		why, err := reasonIn(fields)
		if err != nil {
			return err
		}
		if err := do(p.Clock.Now(), fields, why); err != nil {
			return err
		}
		p.cfg.Log.Info("an operator has made a change", "path", r.URL.Path, "builder", fields.Get("name"),
			"on", fields.Get("on"), "why", why)
		return p.stored(r.Context())
	}
}

// Bounds of a reason, in characters.
const leastReason, mostReason = 3, 500

// reasonIn returns the reason that a form gives.
func reasonIn(fields url.Values) (string, error) {
	why := strings.TrimSpace(fields.Get("why"))
	switch length := utf8.RuneCountInString(why); {
	case !utf8.ValidString(why) || strings.ContainsFunc(why, unicode.IsControl):
		return "", relay.AdminReason.With("it is not a line of text")
	case length < leastReason || length > mostReason:
		return "", relay.AdminReason.With("it has %d characters, and must have %d to %d", length, leastReason, mostReason)
	}
	return why, nil
}

// promote gives a builder the optimistic mode.
func (p *portal) promote(at time.Time, fields url.Values, why string) error {
	return p.changeTrust(at, fields.Get("name"), why, p.Trust.Promote)
}

// suspend ends it.
func (p *portal) suspend(at time.Time, fields url.Values, why string) error {
	return p.changeTrust(at, fields.Get("name"), why, p.Trust.Suspend)
}

// turn turns the kill switch.
func (p *portal) turn(at time.Time, fields url.Values, why string) error {
	on, err := strconv.ParseBool(fields.Get("on"))
	if err != nil {
		return relay.Malformed.With("on is %.30q: want true or false", fields.Get("on"))
	}
	p.Switch.Set(at, on, why)
	return nil
}
