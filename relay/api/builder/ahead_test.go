package builder

import (
	"errors"
	"sync"
	"testing"

	"github.com/gavel-relay/gavel/relay"
)

// foreseen is what a desk was told of submissions that were on the way.
type foreseen struct {
	refuses bool  // no signature is worth verifying
	wrong   error // what is found of a signature

	mu       sync.Mutex // guards all below
	messages []*relay.Submission
	blocks   []*relay.Submission
}

func (d *desk) VerifyAhead(s *relay.Submission) *relay.Work[relay.VerifiedAhead] {
	d.ahead.mu.Lock()
	defer d.ahead.mu.Unlock()
	d.ahead.messages = append(d.ahead.messages, s)
	if d.ahead.refuses {
		return nil
	}
	return relay.NewWork(func() relay.VerifiedAhead { return relay.VerifiedAhead{Err: d.ahead.wrong} })
}

func (d *desk) SignAhead(s *relay.Submission) *relay.SignedAhead {
	d.ahead.mu.Lock()
	defer d.ahead.mu.Unlock()
	d.ahead.blocks = append(d.ahead.blocks, s)
	return new(relay.SignedAhead)
}

// While the blobs are on the way the block of a builder with a key is hashed and its bid signed; of
// another one only after its signature was found right, and that is verified only if the message
// keeps the rules. Of what is packed nobody knows what its end will be, so its bid is not signed,
// and of a dehydrated one the transactions that count come later.
func TestWhatIsBegunAhead(t *testing.T) {
	text, ssz := submission(t)
	const withKey = isSSZ + "X-Api-Key: alpha's"
	for _, row := range []struct {
		what, headers          string
		body                   []byte
		refuses                bool
		wrong                  error
		hashed, verify, signed bool
	}{
		{what: "with a key", headers: withKey, body: ssz, hashed: true, signed: true},
		{what: "with a key, packed", headers: withKey + "\nContent-Encoding: gzip", body: packed(t, "gzip", ssz),
			hashed: true},
		{what: "with a key, dehydrated", headers: withKey + "\nX-Submission-Type: dehydrated", body: ssz},
		{what: "with a key, in JSON", headers: "X-Api-Key: alpha's", body: text},
		{what: "a right signature", headers: isSSZ, body: ssz, hashed: true, verify: true, signed: true},
		{what: "a wrong signature", headers: isSSZ, body: ssz, wrong: errors.New("wrong"), hashed: true, verify: true},
		{what: "a message that breaks a rule", headers: isSSZ, body: ssz, refuses: true, verify: true},
		{what: "without a key, in JSON", headers: "", body: text},
	} {
		d := &desk{outcome: relay.Outcome{Status: 200}}
		d.ahead.refuses, d.ahead.wrong = row.refuses, row.wrong
		answer := ask(t, d.handler(), submitPath, row.headers, row.body)
		if answer.Code != 200 || len(d.received) != 1 {
			t.Fatalf("%s: %d %s", row.what, answer.Code, answer.Body)
		}
		ahead := d.received[0].Ahead
		if got := ahead.TransactionsRoot != nil; got != row.hashed {
			t.Errorf("%s: begun to be hashed %v, want %v", row.what, got, row.hashed)
		}
		if (len(d.ahead.messages) == 1) != row.verify || (ahead.Verified != nil) != (row.verify && !row.refuses) {
			t.Errorf("%s: %d messages looked at, verified %v", row.what, len(d.ahead.messages), ahead.Verified)
		}
		if signed := ahead.Signed != nil && ahead.Signed.Do() != nil; signed != row.signed ||
			(len(d.ahead.blocks) == 1) != row.signed {
			t.Errorf("%s: signed %v, %d bids looked at", row.what, signed, len(d.ahead.blocks))
		}
	}
}

// What is refused before it reaches the auction is refused all the same, and of another builder's
// block nothing is looked at.
func TestNothingIsBegunAheadForAnothersKey(t *testing.T) {
	_, ssz := submission(t)
	d := &desk{outcome: relay.Outcome{Status: 200}}
	wantRefusal(t, ask(t, d.handler(), submitPath, isSSZ+"X-Api-Key: beta's", ssz), relay.APIKeyOtherBuilder)
	if len(d.ahead.messages)+len(d.ahead.blocks)+len(d.received) != 0 {
		t.Errorf("%d messages, %d blocks, %d received", len(d.ahead.messages), len(d.ahead.blocks), len(d.received))
	}
}

// The parts that are looked at ahead say how they came: cancellations and API key count there too.
func TestPartsSayHowTheyCame(t *testing.T) {
	_, ssz := submission(t)
	d := &desk{outcome: relay.Outcome{Status: 200}}
	ask(t, d.handler(), submitPath+"?cancellations=1", isSSZ+"X-Api-Key: alpha's", ssz)
	d.received[0].Ahead.Signed.Do()
	if block := d.ahead.blocks[0]; !block.Cancellable || !block.Identified || block.Trace.Slot != 65 ||
		len(block.Payload.Transactions) != 1 {
		t.Errorf("%+v", block)
	}
}
