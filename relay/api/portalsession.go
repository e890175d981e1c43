package api

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"sync"
	"time"
)

// Sessions of operators. They are in memory: a restart ends them.
const (
	sessionCookie = "gavel_operator"
	// sessionFor is how long a session lasts at most, idleFor how long without a request.
	sessionFor, idleFor = 12 * time.Hour, time.Hour
	// mostSessions bounds them; the one that was used longest ago makes room.
	mostSessions = 32
)

// sessions are those that are open, by the hash of the id in their cookie. The zero value has none;
// it is safe for concurrent use.
type sessions struct {
	mu   sync.Mutex
	open map[[sha256.Size]byte]*session
}

// session is one log-in. Form is the value that its forms carry.
type session struct {
	form         string
	opened, used time.Time
}

// start opens a session and returns the id for its cookie. The id is random and says nothing about
// the token.
func (s *sessions) start(at time.Time) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(at)
	if len(s.open) >= mostSessions {
		s.dropOldest()
	}
	if s.open == nil {
		s.open = map[[sha256.Size]byte]*session{}
	}
	id = rand.Text()
	s.open[sha256.Sum256([]byte(id))] = &session{form: rand.Text(), opened: at, used: at}
	return id
}

// forget drops the sessions that are over.
func (s *sessions) forget(at time.Time) {
	for id, one := range s.open {
		if at.Sub(one.opened) >= sessionFor || at.Sub(one.used) >= idleFor {
			delete(s.open, id)
		}
	}
}

func (s *sessions) dropOldest() {
	var oldest [sha256.Size]byte
	var used time.Time
	for id, one := range s.open {
		if used.IsZero() || one.used.Before(used) {
			oldest, used = id, one.used
		}
	}
	delete(s.open, oldest)
}

// of returns the form's value of the session that a request belongs to; false if there is none.
func (s *sessions) of(r *http.Request, at time.Time) (form string, found bool) {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(at)
	one, found := s.open[sha256.Sum256([]byte(cookie.Value))]
	if !found {
		return "", false
	}
	one.used = at
	return one.form, true
}

// end ends the session of a request.
func (s *sessions) end(r *http.Request) {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, sha256.Sum256([]byte(cookie.Value)))
}

// setCookie gives the browser a session's id, or takes it away if it is empty. Scripts cannot read
// the cookie, and no request that another site causes carries it.
func setCookie(w http.ResponseWriter, r *http.Request, id string) {
	cookie := &http.Cookie{Name: sessionCookie, Value: id, Path: "/operator", HttpOnly: true,
		SameSite: http.SameSiteStrictMode, MaxAge: int(sessionFor / time.Second),
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"}
	if id == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

// same compares secrets by their hashes, so that its timing reveals nothing about them.
func same(got, want string) bool {
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
