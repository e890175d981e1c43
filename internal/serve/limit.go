package serve

import (
	"container/list"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limiter is a token bucket for each key. It holds a bounded number of keys; the one that was not used for longest is forgotten first, which
// costs it nothing but its debt. It is safe for concurrent use, and its time is an argument.
type Limiter struct {
	perSecond rate.Limit
	burst     int
	keys      int

	mu      sync.Mutex // guards all below
	buckets map[string]*list.Element
	recent  list.List // of *bucket, the most recently used first
}

type bucket struct {
	key     string
	limiter *rate.Limiter
}

// NewLimiter lets each of at most so many keys do perSecond things a second, and burst at once.
func NewLimiter(perSecond float64, burst, keys int) *Limiter {
	return &Limiter{perSecond: rate.Limit(perSecond), burst: max(burst, 1), keys: max(keys, 1), buckets: map[string]*list.Element{}}
}

// Allow says whether a key may go on at a moment, and if not, when to come back.
func (l *Limiter) Allow(at time.Time, key string) (ok bool, retryAfter time.Duration) {
	b := l.bucket(key)
	reservation := b.ReserveN(at, 1)
	wait := reservation.DelayFrom(at)
	if !reservation.OK() || wait > 0 {
		reservation.CancelAt(at)
		return false, wait
	}
	return true, 0
}

func (l *Limiter) bucket(key string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found := l.buckets[key]; found != nil {
		l.recent.MoveToFront(found)
		return found.Value.(*bucket).limiter //nolint:forcetypeassert // only buckets are put in
	}
	made := &bucket{key, rate.NewLimiter(l.perSecond, l.burst)}
	l.buckets[key] = l.recent.PushFront(made)
	if l.recent.Len() > l.keys {
		oldest := l.recent.Back()
		l.recent.Remove(oldest)
		delete(l.buckets, oldest.Value.(*bucket).key) //nolint:forcetypeassert // as above
	}
	return made.limiter
}

// Len is how many keys are remembered.
func (l *Limiter) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.recent.Len()
}

// Limit lets requests through that their bucket allows, and refuses the others with a Retry-After in whole seconds. bucketOf names a
// request's limiter and key; a nil limiter lets it through.
func Limit(next http.Handler, now func() time.Time, bucketOf func(*http.Request) (*Limiter, string), refusal Refusal) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if limiter, key := bucketOf(r); limiter != nil {
			if ok, wait := limiter.Allow(now(), key); !ok {
				w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(wait.Seconds())))))
				Refuse(w, r, refusal)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// ClientIP is the address that a request comes from, as a key: IPv6 by its /64, since that is what one customer has. X-Forwarded-For is
// believed only as far as trusted proxies have written it: the last address in it that is no trusted proxy is the client.
func ClientIP(r *http.Request, trusted []netip.Prefix) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	addr = addr.Unmap()
	forwarded := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(forwarded) - 1; i >= 0 && within(addr, trusted); i-- {
		before, err := netip.ParseAddr(strings.TrimSpace(forwarded[i]))
		if err != nil {
			break
		}
		addr = before.Unmap()
	}
	if addr.Is6() {
		if prefix, err := addr.WithZone("").Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return addr.String()
}

func within(addr netip.Addr, prefixes []netip.Prefix) bool {
	for _, prefix := range prefixes {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}
