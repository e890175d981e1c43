package api

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

const registerPath = "POST /eth/v1/builder/validators"

func registration(first byte) *relay.SignedRegistration {
	return &relay.SignedRegistration{
		Message: &builderv1.ValidatorRegistration{Pubkey: pubkey(first), GasLimit: 36_000_000, Timestamp: now},
	}
}

// registrations are three good ones in both encodings.
func registrations(t *testing.T) (text, ssz []byte) {
	t.Helper()
	list := []*relay.SignedRegistration{registration(1), registration(2), registration(3)}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range list {
		raw, err := entry.MarshalSSZ()
		if err != nil {
			t.Fatal(err)
		}
		ssz = append(ssz, raw...)
	}
	return text, ssz
}

func TestRegister(t *testing.T) {
	text, ssz := registrations(t)
	for name, row := range map[string]struct {
		headers string
		body    []byte
		want    int
	}{
		"JSON":                    {"Content-Type: application/json", text, 3},
		"JSON with a parameter":   {"Content-Type: application/json; charset=utf-8", text, 3},
		"JSON without saying so":  {"", text, 3},
		"JSON in gzip":            {"Content-Type: application/json\nContent-Encoding: gzip", gzipped(t, text), 3},
		"SSZ":                     {"Content-Type: application/octet-stream", ssz, 3},
		"SSZ with a version":      {"Content-Type: application/octet-stream\nEth-Consensus-Version: fulu", ssz, 3},
		"SSZ, answer wanted, too": {"Content-Type: application/octet-stream\nAccept: application/octet-stream", ssz, 3},
		"REL-REG-08 none":         {"", []byte("[]"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := &fakePorts{}
			answer := ask(t, d, registerPath, row.headers, row.body)
			if answer.Code != 200 || answer.Body.Len() != 0 || len(d.registered) != row.want {
				t.Fatalf("%d %s, %d registered", answer.Code, answer.Body, len(d.registered))
			}
			for i, entry := range d.registered {
				if entry.Message.Pubkey != pubkey(byte(i+1)) || !d.at.Equal(now) {
					t.Errorf("entry %d is of %#x, at %v", i, entry.Message.Pubkey, d.at)
				}
			}
		})
	}
}

// Entries that cannot be decoded never reach the registrar, so the places that it names are not
// those in the request.
func TestRegisterNamesBadEntriesByTheirPlace(t *testing.T) {
	text, _ := registrations(t)
	bad := strings.Replace(string(text), `"gas_limit":"36000000"`, `"gas_limit":36000000`, 1) // entry 0 has a bare number
	d := &fakePorts{failures: []relay.RegistrationFailure{{Index: 1, Refused: relay.RegistrationUnknownValidator.Plain()}}}
	answer := ask(t, d, registerPath, "", []byte(bad))
	wantRefusal(t, answer, relay.RegistrationsInvalid)
	if len(d.registered) != 2 || d.registered[0].Message.Pubkey != pubkey(2) {
		t.Errorf("%d good ones were passed on", len(d.registered))
	}
	var body struct {
		Failures []struct {
			Index   int
			Message string
		}
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	if len(body.Failures) != 2 || body.Failures[0].Index != 0 || body.Failures[1].Index != 2 ||
		!strings.Contains(body.Failures[0].Message, "gas_limit") || body.Failures[1].Message != "not a known validator" {
		t.Errorf("failures %+v", body.Failures)
	}
}

// A list of what is no registration costs its sender a hundred lines of answer, however many items
// it has.
func TestRegisterListsAHundredFailuresAndCountsTheRest(t *testing.T) {
	const items = 1000
	answer := ask(t, &fakePorts{}, registerPath, "", []byte("["+strings.Repeat("0,", items-1)+"0]"))
	wantRefusal(t, answer, relay.RegistrationsInvalid)
	var body struct {
		Message  string
		Failures []struct{ Index int }
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	if len(body.Failures) != 100 || body.Failures[99].Index != 99 || !strings.Contains(body.Message, "1000 of 1000") ||
		!strings.Contains(body.Message, "900 more") {
		t.Errorf("%d failures, %q", len(body.Failures), body.Message)
	}
}

// Who sends too many is told so; none counts.
func TestRegisterRefusesTooMany(t *testing.T) {
	_, ssz := registrations(t)
	for headers, body := range map[string][]byte{
		"":                                       []byte("[" + strings.Repeat("0,", wire.MaxRegistrations) + "0]"),
		"Content-Type: application/octet-stream": bytes.Repeat(ssz[:180], wire.MaxRegistrations+1),
	} {
		d := &fakePorts{}
		wantRefusal(t, ask(t, d, registerPath, headers, body), relay.RegistrationsTooMany)
		if !d.untouched() {
			t.Error("the ports were asked all the same")
		}
	}
}

func TestRegisterRefusesMalformedRequests(t *testing.T) {
	text, ssz := registrations(t)
	// A megabyte of blanks in gzip, again and again: members one after another are one stream.
	bomb := bytes.Repeat(gzipped(t, bytes.Repeat([]byte(" "), 1<<20)), maxRegistrations>>20+1)
	for name, row := range map[string]struct {
		headers string
		body    []byte
		want    relay.Refusal
	}{
		"nothing":                    {"", nil, relay.Malformed},
		"an object":                  {"", []byte("{}"), relay.Malformed},
		"null":                       {"", []byte("null"), relay.Malformed},
		"cut short":                  {"", text[:len(text)-1], relay.Malformed},
		"one is null":                {"", []byte("[null]"), relay.RegistrationsInvalid},
		"one is a number":            {"", []byte("[1]"), relay.RegistrationsInvalid},
		"REL-REG-12 SSZ cut short":   {"Content-Type: application/octet-stream", ssz[1:], relay.Malformed},
		"JSON that says SSZ":         {"Content-Type: application/octet-stream", text, relay.Malformed},
		"text":                       {"Content-Type: text/plain", text, relay.UnsupportedMediaType},
		"an unreadable type":         {"Content-Type: ;", text, relay.UnsupportedMediaType},
		"an unknown encoding":        {"Content-Encoding: br", text, relay.UnsupportedMediaType},
		"plain that says gzip":       {"Content-Encoding: gzip", text, relay.BodyUnreadable},
		"REL-SUB-27 too large":       {"", bytes.Repeat([]byte(" "), maxRegistrations+1), relay.BodyTooLarge},
		"REL-SUB-27 a bomb, in gzip": {"Content-Encoding: gzip", bomb, relay.BodyTooLarge},
		"JSON of hostile depth":      {"", bytes.Repeat([]byte("["), 1<<20), relay.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			d := &fakePorts{}
			wantRefusal(t, ask(t, d, registerPath, row.headers, row.body), row.want)
			if !d.untouched() {
				t.Error("the ports were asked all the same")
			}
		})
	}
}
