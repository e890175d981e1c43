package serve

import (
	"container/list"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limiter gives every key its own token bucket. Its memory is bounded: it drops a bucket that is
// full again, because a new one would be the same, and beyond its largest number of keys it drops
// the one that was used longest ago. So it grants every key at least as much as a limiter with
// unbounded memory would. It reads no clock, and is safe for concurrent use.
type Limiter struct {
	perSecond rate.Limit
	burst     int
	keys      int

	mu      sync.Mutex // guards what follows
	buckets map[string]*list.Element
	recent  list.List // of *bucket, the last used first
	latest  time.Time // of all calls
}

type bucket struct {
	key    string
	tokens *rate.Limiter
}

// NewLimiter returns a limiter that allows each key perSecond requests a second, and burst requests
// at once. It remembers at most so many keys.
func NewLimiter(perSecond float64, burst, keys int) *Limiter {
	return &Limiter{
		perSecond: rate.Limit(perSecond), burst: max(burst, 1), keys: max(keys, 1), buckets: make(map[string]*list.Element),
	}
}

// Allow takes a token of a key's bucket. If there is none, retryAfter is the time until there will
// be one. A time before that of an earlier call counts as the time of that call.
func (l *Limiter) Allow(at time.Time, key string) (ok bool, retryAfter time.Duration) {
	_, ok, retryAfter = l.Take(at, key)
	return ok, retryAfter
}

// Take is Allow, and also returns how many tokens the bucket has left.
func (l *Limiter) Take(at time.Time, key string) (left int, ok bool, retryAfter time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.Before(l.latest) {
		at = l.latest
	}
	l.latest = at
	l.forget(at)
	tokens := l.bucket(key).tokens
	if tokens.AllowN(at, 1) {
		return max(int(tokens.TokensAt(at)), 0), true, 0
	}
	missing := 1 - tokens.TokensAt(at)
	return 0, false, time.Duration(missing / float64(l.perSecond) * float64(time.Second))
}

// Burst is how many tokens a full bucket has.
func (l *Limiter) Burst() int { return l.burst }

// bucket is a key's bucket; a new one is full.
func (l *Limiter) bucket(key string) *bucket {
	if element, known := l.buckets[key]; known {
		l.recent.MoveToFront(element)
		return element.Value.(*bucket)
	}
	if len(l.buckets) >= l.keys {
		l.drop(l.recent.Back())
	}
	fresh := &bucket{key: key, tokens: rate.NewLimiter(l.perSecond, l.burst)}
	l.buckets[key] = l.recent.PushFront(fresh)
	return fresh
}

// forget drops full buckets, at most two a call. So they are dropped faster than new ones come, and
// each call is short.
func (l *Limiter) forget(at time.Time) {
	for range 2 {
		oldest := l.recent.Back()
		if oldest == nil || oldest.Value.(*bucket).tokens.TokensAt(at) < float64(l.burst) {
			return
		}
		l.drop(oldest)
	}
}

func (l *Limiter) drop(element *list.Element) {
	l.recent.Remove(element)
	delete(l.buckets, element.Value.(*bucket).key)
}

// Keys is how many keys are remembered.
func (l *Limiter) Keys() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.buckets)
}
