package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/jsonscan"
	"github.com/gavel-relay/gavel/relay"
)

// The oracle reads a list of registrations with encoding/json alone, with lengths that must be
// right and the rules for names that hold in all bodies (tokenWalk). On every document both must
// say the same, except where this package means to be stricter:
//
//   - errSpelling: encoding/json takes "Message" for "message".
//   - A value that is nested deeper than maxDepth ends the whole list.
//   - ErrTooManyRegistrations, and objects with more than 2048 names that are not ours.

// registrationOracle is an entry as encoding/json reads it; pointers tell what is missing.
type registrationOracle struct {
	Message *struct {
		FeeRecipient *string `json:"fee_recipient"`
		GasLimit     *string `json:"gas_limit"`
		Timestamp    *string `json:"timestamp"`
		Pubkey       *string `json:"pubkey"`
	} `json:"message"`
	Signature *string `json:"signature"`
}

// read reads an entry; the error is for one that is no registration.
func (o *registrationOracle) read(raw []byte) (*relay.SignedRegistration, error) {
	walker := tokenWalker{json.NewDecoder(bytes.NewReader(raw))}
	walker.UseNumber()
	if err := walker.value("", object, 1); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, o); err != nil {
		return nil, err
	}
	if o.Message == nil {
		return nil, errors.New("no message")
	}
	entry := newRegistration()
	gasLimit, err := plainNumber(o.Message.GasLimit)
	seconds, timeErr := plainNumber(o.Message.Timestamp)
	entry.Message.GasLimit, entry.Message.Timestamp = gasLimit, timeOf(seconds)
	return entry, errors.Join(err, timeErr, plainBytes(entry.Message.FeeRecipient[:], o.Message.FeeRecipient),
		plainBytes(entry.Message.Pubkey[:], o.Message.Pubkey), plainBytes(entry.Signature[:], o.Signature))
}

func newRegistration() *relay.SignedRegistration { return roomFor(1).next() }

func plainNumber(text *string) (uint64, error) {
	if text == nil {
		return 0, errors.New("no number")
	}
	n, err := strconv.ParseUint(*text, 10, 64)
	if err == nil && *text != fmt.Sprint(n) {
		err = fmt.Errorf("%q is written in another way", *text)
	}
	return n, err
}

func plainBytes(into []byte, text *string) error {
	if text == nil {
		return errors.New("no bytes")
	}
	digits, prefixed := strings.CutPrefix(*text, "0x")
	if !prefixed || len(digits) != 2*len(into) {
		return fmt.Errorf("%q: want 0x and %d bytes", *text, len(into))
	}
	_, err := hex.Decode(into, []byte(digits))
	return err
}

// registrationsAgree compares the decoder with the oracle.
func registrationsAgree(t rapid.TB, body []byte) {
	t.Helper()
	got, err := DecodeRegistrations(JSON, body)
	var syntax *jsonscan.SyntaxError
	tooDeep := errors.As(err, &syntax) && syntax.IsTooDeep()
	if tooDeep || errors.Is(err, ErrTooManyRegistrations) {
		return
	}
	var list []json.RawMessage
	wantErr := json.Unmarshal(body, &list)
	if wantErr == nil && list == nil {
		wantErr = errors.New("null")
	}
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%v, the oracle says %v, about\n%.3000q", err, wantErr, body)
	}
	if err != nil {
		return
	}
	if len(list) != len(got.Entries)+got.BadCount {
		t.Fatalf("%d good and %d bad ones of %d", len(got.Entries), got.BadCount, len(list))
	}
	why := map[int]error{}
	for _, bad := range got.Bad {
		why[bad.Index] = bad.Err
	}
	good := 0
	for i, raw := range list {
		want, wantErr := new(registrationOracle).read(raw)
		if good < len(got.Entries) && got.BodyIndex(good) == i {
			entry := &got.Entries[good]
			if good++; wantErr != nil || *entry.Message != *want.Message || entry.Signature != want.Signature {
				t.Fatalf("taken as %+v, the oracle says %+v, %v, about\n%.3000q", entry.Message, want, wantErr, raw)
			}
			continue
		}
		if stricter := errors.Is(why[i], errSpelling) || why[i] == nil ||
			strings.Contains(why[i].Error(), "names in an object"); wantErr == nil && !stricter {
			t.Fatalf("refused with %v, the oracle has nothing against\n%.3000q", why[i], raw)
		}
	}
}

// registrationText is a list of good entries.
func registrationText(t rapid.TB, entries int) string {
	list := make([]*relay.SignedRegistration, entries)
	for i := range list {
		list[i] = newSource(uint64(i)).registration()
	}
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

var registrationNames = []string{"message", "fee_recipient", "gas_limit", "timestamp", "pubkey", "signature"}

func TestRegistrationsAgreeWithTheOracle(t *testing.T) {
	names := []string{}
	for name := range mutations {
		names = append(names, name)
	}
	whole := registrationText(t, 2)
	registrationsAgree(t, []byte(whole))
	if got, err := DecodeRegistrations(JSON, []byte(whole)); err != nil || len(got.Entries) != 2 {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		body := whole
		for range rapid.IntRange(1, 2).Draw(t, "mutations") {
			if body = mutations[rapid.SampledFrom(names).Draw(t, "mutation")](t, body); body == "" {
				return
			}
		}
		registrationsAgree(t, []byte(body))
	})
	for _, name := range registrationNames {
		for _, value := range strangeValues {
			registrationsAgree(t, []byte(replaced(whole, name, value)))
		}
	}
}

// replaced is a document with another value in the place of the first one of a name.
func replaced(body, name, value string) string {
	c := newCursor([]byte(body))
	c.At = strings.Index(body, `"`+name+`":`) + len(name) + 3
	from := c.At
	if _, err := c.Raw(); err != nil {
		return body
	}
	return body[:from] + value + body[c.At:]
}

func FuzzRegistrationsAgreeWithTheOracle(f *testing.F) {
	whole := registrationText(f, 1)
	f.Add([]byte(registrationText(f, 2)))
	for _, name := range registrationNames {
		for _, value := range strangeValues {
			f.Add([]byte(replaced(whole, name, value)))
		}
		f.Add([]byte(strings.Replace(whole, name, strings.ToUpper(name), 1)))
		f.Add([]byte(strings.Replace(whole, name, "\\u00"+hex.EncodeToString([]byte(name[:1]))+name[1:], 1)))
	}
	for _, value := range strangeValues {
		f.Add([]byte(value))
		f.Add([]byte("[" + value + "," + whole[1:]))
		f.Add([]byte(whole + value))
	}
	f.Fuzz(func(t *testing.T, body []byte) { registrationsAgree(t, body) })
}
