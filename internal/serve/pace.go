package serve

import (
	"io"
	"time"
)

// pace is a body that must come at a least rate after a grace period, and must end before a last
// moment. It sets the connection's deadline before a read, but only if the current deadline is
// near. So for a body that comes at once it sets only one.
type pace struct {
	io.ReadCloser
	spent    *reservation
	deadline func(time.Time)
	rate     int64 // bytes a second; negative for none
	begun    time.Time
	last     time.Time

	got   int64
	armed time.Time
	ended bool // a deadline that is set now would affect the next request
}

// Read implements io.Reader.
func (p *pace) Read(b []byte) (int, error) {
	if now := time.Now(); !p.ended && p.armed.Sub(now) < rateGrace/2 {
		if due := p.due(); !due.Equal(p.armed) {
			p.armed = due
			p.spent.whileComing(func() { p.deadline(due) })
		}
	}
	n, err := p.ReadCloser.Read(b)
	p.got += int64(n)
	p.ended = p.ended || err != nil
	return n, err
}

// due is when the next byte must have come.
func (p *pace) due() time.Time {
	if p.rate < 0 {
		return p.last
	}
	due := p.begun.Add(rateGrace + time.Duration(float64(p.got)/float64(p.rate)*float64(time.Second)))
	if due.After(p.last) {
		return p.last
	}
	return due
}

// pause makes a time in which nothing was read not count.
func (p *pace) pause(took time.Duration) {
	p.begun = p.begun.Add(took)
	if took > 0 && !p.ended {
		p.armed = time.Time{} // the current deadline may have passed
	}
}
