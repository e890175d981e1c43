package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/auction"
)

// hears returns when an instance has applied what is in the auction log now.
func (h *relayUnderTest) hears(t *testing.T) {
	t.Helper()
	must(t, h.app.HearLog(t.Context()))
}

// wantSameHeader wants two instances to serve the same bytes, and a submission.
func wantSameHeader(t *testing.T, a, b *relayUnderTest, s *submission) {
	t.Helper()
	a.hears(t)
	b.hears(t)
	a.wantTop(t, s)
	for _, accept := range []http.Header{nil, {"Accept": {"application/octet-stream"}}} {
		atA, atB := a.get(t, a.headerPath(), accept), b.get(t, b.headerPath(), accept)
		if atA.status != http.StatusOK || atB.status != http.StatusOK || !bytes.Equal(atA.body, atB.body) {
			t.Errorf("one instance serves\n%s\nthe other\n%s", atA, atB)
		}
	}
}

// What one instance takes the other serves, byte for byte. A lower bid at the other takes it away
// from both; the floor and the answers are the same at both.
func TestInstancesAreOneAuction(t *testing.T) {
	a, b := newInstances(t)
	high, low := a.worth(t, 1, 5000), b.worth(t, 1, 1000)
	a.submitted(t, high)
	wantSameHeader(t, a, b, high)
	b.submitted(t, low)
	wantSameHeader(t, a, b, low)

	final := a.worth(t, 1, 3000)
	if got := a.submitFinal(t, final); got.status != http.StatusOK {
		t.Fatalf("%s", got)
	}
	wantSameHeader(t, a, b, final)
	for _, h := range []*relayUnderTest{a, b} {
		if got := h.submitFinal(t, h.worth(t, 0, 2500)); got.status != http.StatusAccepted {
			t.Errorf("a bid below the floor: %s", got)
		}
	}
	equal := b.worth(t, 0, 3000)
	if got := b.submit(t, equal); got.status != http.StatusAccepted {
		t.Errorf("a bid at the floor: %s", got)
	}
	wantSameHeader(t, b, a, final)

	sequenced := func(number string) http.Header {
		header := sszHeader(a.fork)
		header.Set("X-Sequence", number)
		return header
	}
	seventh, sixth := a.worth(t, 1, 9000), b.worth(t, 1, 9500)
	a.post(t, submitPath, sequenced("7"), seventh.ssz(t)).wantStatus(t, http.StatusOK)
	b.hears(t)
	b.post(t, submitPath, sequenced("6"), sixth.ssz(t)).wantRefusal(t, relay.SubmissionStale, "")
	wantSameHeader(t, b, a, seventh)
}

// A header at one instance, its payload at the other: the builder keeps its word, and the block is
// delivered by either.
func TestHeaderFirstAcrossInstances(t *testing.T) {
	a, b := newInstances(t)
	a.into(0)
	s := a.worth(t, 0, 1000)
	a.post(t, headersPath, withKey(sszHeader(a.fork)), s.header(t)).wantStatus(t, http.StatusOK)
	b.hears(t)
	b.wantTop(t, s)
	block := a.blind(t, a.header(t))
	waits := a.goReveal(t, v2Path, block) // the payload is not here yet
	b.submitted(t, s)
	if got := <-waits; got.status != http.StatusAccepted {
		t.Errorf("%s", got)
	}
	a.clock.Set(a.clock.Now().Add(2 * time.Second)) // behind the time for the payload, at both
	a.hears(t)
	if got := append(a.demotions(t), b.demotions(t)...); len(got) > 0 {
		t.Errorf("an honest builder is demoted: %+v", got)
	}

	a.next(t)
	b.slot, b.attributes = a.slot, a.attributes
	b.await(t)
	never := b.worth(t, 0, 2000)
	b.post(t, headersPath, withKey(sszHeader(b.fork)), never.header(t)).wantStatus(t, http.StatusOK)
	b.wantTop(t, never)
	a.clock.Set(a.clock.Now().Add(time.Second))
	poll(t, "the builder is demoted at both", func() bool { return len(a.demotions(t)) == 1 && len(b.demotions(t)) == 1 })
	poll(t, "nothing is served", func() bool { return a.header(t) == nil && b.header(t) == nil })
	a.clock.Set(a.clock.Now().Add(2 * time.Second)) // when others look, in case that the first one has died
	a.hears(t)
	b.hears(t)
	if got := b.demotions(t); len(got) != 1 || got[0].Rule != relay.DemotedWithheld {
		t.Errorf("%+v, want one demotion", got)
	}
}

// An instance is killed right behind its answers, with SIGKILL: what it took is served and
// delivered by the other, and a header whose payload never comes demotes.
func TestInstanceThatIsKilledBehindItsAnswer(t *testing.T) {
	a, b := newInstances(t)
	withheld := a.worth(t, 0, 4000)
	bid := a.worth(t, 1, 5000)
	victim := *a
	kill := victim.startVictim(t, t.TempDir())
	victim.await(t)
	victim.post(t, headersPath, withKey(sszHeader(a.fork)), withheld.header(t)).wantStatus(t, http.StatusOK)
	victim.submitted(t, bid)
	kill()
	b.hears(t)
	b.wantTop(t, bid)
	b.into(0)
	b.reveal(t, v1Path, b.blind(t, b.header(t))).wantStatus(t, http.StatusOK)
	a.clock.Set(a.clock.Now().Add(3 * time.Second)) // the killed one's time for the payload, and the grace of others
	poll(t, "an instance that lives demotes", func() bool { return len(a.demotions(t)) == 1 && len(b.demotions(t)) == 1 })
}

// An entry that an instance is too old for: nothing of its slot is served, by name, and the next
// slot goes on.
func TestEntryThatIsTooNew(t *testing.T) {
	a, b := newInstances(t)
	s := a.worth(t, 1, 1000)
	a.submitted(t, s)
	wantSameHeader(t, a, b, s)
	block := a.blind(t, a.header(t))
	entry := `{"version":9,"needs":9,"instance":"newer","number":1,"kind":"bid"}`
	_, err := a.app.Journal().AppendAuction(t.Context(), a.app.AuctionSubject(a.slot), []byte(entry))
	must(t, err)
	for _, h := range []*relayUnderTest{a, b} {
		h.hears(t)
		if h.header(t) != nil {
			t.Error("a header is served although the auction cannot be read")
		}
		if got := h.get(t, "/readyz", nil); got.status != http.StatusServiceUnavailable ||
			!bytes.Contains(got.body, []byte("needs version 9")) {
			t.Errorf("%s", got)
		}
		h.submit(t, h.worth(t, 1, 2000)).wantRefusal(t, relay.SubmissionAuctionDown, "")
	}
	b.into(0)
	b.reveal(t, v2Path, block).wantStatus(t, http.StatusAccepted) // what was served before is delivered
	a.next(t)
	b.slot, b.attributes = a.slot, a.attributes
	b.await(t)
	s = b.worth(t, 1, 1000)
	b.submitted(t, s)
	wantSameHeader(t, a, b, s)
	a.get(t, "/readyz", nil).wantStatus(t, http.StatusOK)
}

// An instance that starts in the middle of a slot serves what the auction is, from its log.
func TestInstanceThatStartsLate(t *testing.T) {
	a, b := newInstances(t)
	s := a.worth(t, 1, 1000)
	a.submitted(t, a.worth(t, 1, 3000))
	a.submitted(t, s)
	b.restart(t)
	wantSameHeader(t, a, b, s)
}

// logged is what became of the bids of a slot's log.
type logged struct {
	entered map[phase0.Hash32]bool
	top     phase0.Hash32
}

// readLog reads a slot's whole log as an instance does.
func (h *relayUnderTest) readLog(t *testing.T) logged {
	t.Helper()
	last, err := h.app.Journal().LastAuction(t.Context())
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var boards auction.Boards
	read := logged{entered: map[phase0.Hash32]bool{}}
	must(t, h.app.Journal().FollowAuction(ctx, 1, func(number uint64, _ time.Time, subject string, data []byte) error {
		if subject == h.app.AuctionSubject(h.slot) {
			entry, applied, err := boards.Apply(number, h.slot, data)
			if err != nil {
				return err
			}
			read.entered[entry.BlockHash] = read.entered[entry.BlockHash] || applied.Entered
		} else {
			boards.Pass(number)
		}
		if number >= last {
			cancel()
		}
		return nil
	}))
	_, proposer := h.duty(h.slot)
	key := relay.Key{Slot: h.slot, ParentHash: h.attributes.ParentHash, Proposer: proposer.PublicKey()}
	if top := boards.Board(h.slot).Book(key).Top(); top != nil {
		read.top = top.BlockHash
	}
	return read
}

// Many bids at both instances at once: each that was answered with 200 is in the log as a bid that
// counts, and both serve what the log says.
func TestAnsweredBidsAreInTheLog(t *testing.T) {
	a, b := newInstances(t)
	const each = 24
	type sent struct {
		at *relayUnderTest
		s  *submission
	}
	var bids []sent
	for n := range each {
		for i, h := range []*relayUnderTest{a, b} {
			bids = append(bids, sent{h, h.worth(t, (n+i)%2, uint64(1000+37*((n*7+i*5)%each)))})
		}
	}
	answered := make([]answer, len(bids))
	var sending sync.WaitGroup
	for worker := range 8 {
		sending.Go(func() {
			for i := worker; i < len(bids); i += 8 {
				if i%5 == 0 {
					answered[i] = bids[i].at.submitFinal(t, bids[i].s)
				} else {
					answered[i] = bids[i].at.submit(t, bids[i].s)
				}
			}
		})
	}
	sending.Wait()
	read := a.readLog(t)
	counted := 0
	for i, got := range answered {
		hash := bids[i].s.payload.BlockHash
		switch {
		case got.status == http.StatusOK && !read.entered[hash]:
			t.Errorf("bid %d was answered with 200 and does not count in the log", i)
		case got.status == http.StatusOK:
			counted++
		case got.status == http.StatusAccepted: // at or below the floor
		case got.status == http.StatusBadRequest && bytes.Contains(got.body, []byte(relay.SubmissionStale.ID)):
		default:
			t.Errorf("bid %d: %s", i, got)
		}
	}
	if counted < 3 {
		t.Errorf("%d bids counted", counted)
	}
	for _, h := range []*relayUnderTest{a, b} {
		h.hears(t)
		var top string
		if bid := h.header(t); bid != nil {
			top, _ = bid.Data.Message.Header["block_hash"].(string)
		}
		if want := fmt.Sprintf("%#x", read.top[:]); top != want {
			t.Errorf("an instance serves %s, the log says %s", top, want)
		}
	}
	atA, atB := a.get(t, a.headerPath(), nil), b.get(t, b.headerPath(), nil)
	if !bytes.Equal(atA.body, atB.body) || !json.Valid(atA.body) {
		t.Errorf("%s\n%s", atA, atB)
	}
}

// balanced is the instances behind a balancer that sends each request to the next one.
func balanced(t *testing.T, instances ...*relayUnderTest) *relayUnderTest {
	t.Helper()
	var next atomic.Uint64
	balancer := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		at, err := url.Parse(instances[next.Add(1)%uint64(len(instances))].relayURL)
		if err != nil {
			t.Error(err)
		}
		r.SetURL(at)
	}})
	t.Cleanup(balancer.Close)
	h := *instances[0]
	h.relayURL = balancer.URL
	return &h
}

// Builders and a proposer that know a balancer only: each request goes to another instance than the
// one before it, for several slots.
func TestInstancesBehindABalancer(t *testing.T) {
	a, b := newInstances(t)
	h := balanced(t, a, b)
	settle := func() {
		a.hears(t)
		b.hears(t)
	}
	for range 3 {
		h.into(0)
		var last *submission
		for _, wei := range []uint64{1000, 3000, 2000, 1500} { // each takes the one before it away
			last = h.worth(t, 1, wei)
			h.submitted(t, last)
			settle()
			h.wantTop(t, last)
		}
		first := h.worth(t, 0, 4000)
		h.post(t, headersPath, withKey(sszHeader(h.fork)), first.header(t)).wantStatus(t, http.StatusOK)
		settle()
		h.wantTop(t, first)
		h.submitted(t, first) // the payload, at the other instance
		settle()
		block := h.blind(t, h.header(t))
		h.reveal(t, v1Path, block).wantStatus(t, http.StatusOK)
		h.reveal(t, v1Path, block).wantStatus(t, http.StatusOK) // again, at the other instance
		h.next(t)
		settle()
	}
	if got := a.demotions(t); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

// A relay of a later version runs beside this one, as in a rolling restart: its entries, facts and
// state have kinds and fields that this version does not know. They change nothing here, also for
// an instance that starts with them, and a header that was served before is delivered behind it.
func TestLaterVersionBesideThisOne(t *testing.T) {
	a, b := newInstances(t)
	first := a.worth(t, 1, 1000)
	a.submitted(t, first)
	log := a.app.Journal()
	later := func() {
		for number, entry := range []string{
			`{"version":2,"needs":1,"instance":"later","number":%d,"kind":"novelty","novel":{"weight":"7"}}`,
			`{"version":2,"needs":1,"instance":"later","number":%d,"kind":"opened","novel":[1]}`,
		} {
			number += int(a.slot) * 10
			_, err := log.AppendAuction(t.Context(), a.app.AuctionSubject(a.slot), fmt.Appendf(nil, entry, number+1))
			must(t, err)
		}
		_, err := log.Append(t.Context(), "relay.novelty", []byte(`{"version":2,"novel":true}`))
		must(t, err)
		must(t, log.PutState(t.Context(), "relay.novelty", []byte(`{"version":2,"novel":true}`)))
	}
	later()
	wantSameHeader(t, a, b, first)
	second := b.worth(t, 1, 2000)
	b.submitted(t, second)
	later()
	wantSameHeader(t, a, b, second)
	block := a.blind(t, a.header(t))
	for _, h := range []*relayUnderTest{a, b} {
		h.restart(t)
		h.await(t)
		wantSameHeader(t, a, b, second)
		h.get(t, "/readyz", nil).wantStatus(t, http.StatusOK)
	}
	third := a.worth(t, 1, 3000)
	a.submitted(t, third)
	wantSameHeader(t, a, b, third)
	b.into(0)
	b.reveal(t, v2Path, block).wantStatus(t, http.StatusAccepted)
}
