package api

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/attestantio/go-builder-client/api/fulu"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"github.com/klauspost/compress/zstd"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

const submitPath = "POST /relay/v1/builder/blocks"

// submission is a block of slot 65, in fulu, in both encodings.
func submission(t *testing.T) (text, ssz []byte) {
	t.Helper()
	request := &fulu.SubmitBlockRequest{
		Message: &relay.BidTrace{Slot: 65, Value: uint256.NewInt(9), BlockHash: phase0.Hash32{0xee}},
		ExecutionPayload: &deneb.ExecutionPayload{
			BaseFeePerGas: uint256.NewInt(7), Transactions: []bellatrix.Transaction{bytes.Repeat([]byte{2}, 100)},
			Withdrawals: []*capella.Withdrawal{},
		},
		BlobsBundle: &fulu.BlobsBundle{Commitments: []deneb.KZGCommitment{}, Proofs: []deneb.KZGProof{},
			Blobs: []deneb.Blob{}},
		ExecutionRequests: payload.EmptyRequests(),
	}
	text, err := request.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if ssz, err = request.MarshalSSZ(); err != nil {
		t.Fatal(err)
	}
	return text, ssz
}

// packed compresses a body.
func packed(t *testing.T, encoding string, plain []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&out)
	if encoding == "zstd" {
		var err error
		if w, err = zstd.NewWriter(&out); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestSubmitBlock(t *testing.T) {
	text, ssz := submission(t)
	for name, row := range map[string]struct {
		query, headers string
		body           []byte
		cancellable    bool
		sequence       uint64
	}{
		"JSON":                    {"", "Content-Type: application/json", text, false, 0},
		"JSON without saying so":  {"", "", text, false, 0},
		"JSON with a parameter":   {"", "Content-Type: application/json; charset=utf-8", text, false, 0},
		"JSON with a version":     {"", "Eth-Consensus-Version: fulu", text, false, 0},
		"JSON in gzip":            {"", "Content-Encoding: gzip", packed(t, "gzip", text), false, 0},
		"JSON in zstd":            {"", "Content-Encoding: zstd", packed(t, "zstd", text), false, 0},
		"SSZ":                     {"", isSSZ, ssz, false, 0},
		"SSZ with a version":      {"", isSSZ + "Eth-Consensus-Version: fulu", ssz, false, 0},
		"SSZ in gzip":             {"", isSSZ + "Content-Encoding: gzip", packed(t, "gzip", ssz), false, 0},
		"SSZ in zstd":             {"", isSSZ + "Content-Encoding: zstd", packed(t, "zstd", ssz), false, 0},
		"with cancellations":      {"?cancellations=1", isSSZ, ssz, true, 0},
		"cancellations in words":  {"?cancellations=true", isSSZ, ssz, true, 0},
		"without cancellations":   {"?cancellations=0", isSSZ, ssz, false, 0},
		"without them in words":   {"?cancellations=false", isSSZ, ssz, false, 0},
		"cancellations of no say": {"?cancellations=", isSSZ, ssz, false, 0},
		"an unknown parameter":    {"?fast=yes", isSSZ, ssz, false, 0},
		"a sequence":              {"", isSSZ + "X-Sequence: 18446744073709551615", ssz, false, 1<<64 - 1},
		"an unknown name":         {"", "", bytes.Replace(text, []byte(`{`), []byte(`{"future":1,`), 1), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := &builderFakePorts{outcome: relay.Outcome{}}
			answer := askHandler(t, d.handler(), submitPath+row.query, row.headers, row.body)
			if answer.Code != 200 || answer.Body.Len() != 0 || len(d.received) != 1 {
				t.Fatalf("%d %s, %d received", answer.Code, answer.Body, len(d.received))
			}
			s := d.received[0]
			if s.Fork != eth.Fulu || s.Trace.Slot != 65 || s.Trace.BlockHash != (phase0.Hash32{0xee}) ||
				len(s.Payload.Transactions) != 1 {
				t.Errorf("received %+v", s)
			}
			if !s.ReceivedAt.Equal(now) || s.Cancellable != row.cancellable || s.Sequence != row.sequence {
				t.Errorf("received at %v, cancellable %v, sequence %d", s.ReceivedAt, s.Cancellable, s.Sequence)
			}
		})
	}
}

func TestSubmitBlockTellsTheOutcome(t *testing.T) {
	text, _ := submission(t)
	d := &builderFakePorts{outcome: relay.Outcome{BelowFloor: true}}
	answer := askHandler(t, d.handler(), submitPath, "", text)
	if answer.Code != 202 || answer.Body.String() != `{"message":"accepted bid below floor, skipped validation"}` ||
		answer.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	wantRefusal(t, askHandler(t, (&builderFakePorts{err: relay.SubmissionStale.Plain()}).handler(),
		submitPath, "", text),
		relay.SubmissionStale)
	wantRefusal(t, askHandler(t, (&builderFakePorts{err: errors.New("secret")}).handler(), submitPath, "", text),
		relay.Internal)
}

// What is no submission is refused in either encoding.
func TestSubmitBlockRefusesWhatIsNoSubmission(t *testing.T) {
	for _, body := range []string{"", "{", "{}", "null", "[]", `{"message":null}`, `{"message":{"slot":"1"}}`,
		`{"message":{"slot":"65"}}`, "\xff\xfe", strings.Repeat("\x00", 400)} {
		for _, headers := range []string{"", isSSZ} {
			d := &builderFakePorts{}
			wantRefusal(t, askHandler(t, d.handler(), submitPath, headers, []byte(body)), relay.Malformed)
			if d.received != nil {
				t.Errorf("%q was passed on", body)
			}
		}
	}
}

// REL-SUB-29: a version that is not the slot's fork is refused and named, in either encoding;
// letters may be capitals.
func TestSubmitBlockLooksAtTheVersion(t *testing.T) {
	text, ssz := submission(t)
	for encoding, body := range map[string][]byte{"": text, isSSZ: ssz} {
		for _, fork := range eth.KnownForks() {
			d := &builderFakePorts{}
			answer := askHandler(t, d.handler(), submitPath, encoding+"Eth-Consensus-Version: "+strings.ToUpper(fork.String()),
				body)
			if fork == eth.Fulu {
				if answer.Code != 200 || len(d.received) != 1 {
					t.Errorf("FULU: %d %s", answer.Code, answer.Body)
				}
				continue
			}
			wantRefusal(t, answer, relay.WrongFork)
			if !strings.Contains(answer.Body.String(), fork.String()) {
				t.Errorf("%s is not named: %s", fork, answer.Body)
			}
		}
	}
}

// at is a submission in SSZ with another slot below 256: the slot is its first eight bytes.
func at(slot byte, ssz []byte) []byte {
	moved := bytes.Clone(ssz)
	moved[0] = slot
	return moved
}

func TestSubmitBlockRefusesMalformedRequests(t *testing.T) {
	text, ssz := submission(t)
	replaced := func(before, after string) []byte {
		if !bytes.Contains(text, []byte(before)) {
			t.Fatalf("the good submission has no %s", before)
		}
		return bytes.Replace(text, []byte(before), []byte(after), 1)
	}
	for name, row := range map[string]struct {
		query, headers string
		body           []byte
		want           relay.Refusal
	}{
		"nothing":                           {"", "", nil, relay.Malformed},
		"SSZ of nothing":                    {"", isSSZ, nil, relay.Malformed},
		"a list":                            {"", "", []byte("[]"), relay.Malformed},
		"cut short":                         {"", "", text[:len(text)-1], relay.Malformed},
		"transactions that are numbers":     {"", "", replaced(`"0x`+strings.Repeat("02", 100)+`"`, `1`), relay.Malformed},
		"REL-SUB-34 a negative value":       {"", "", replaced(`"value":"9"`, `"value":"-9"`), relay.Malformed},
		"REL-SUB-34 a value in hexadecimal": {"", "", replaced(`"value":"9"`, `"value":"0x9"`), relay.Malformed},
		"REL-SUB-34 an empty value":         {"", "", replaced(`"value":"9"`, `"value":""`), relay.Malformed},
		"REL-SUB-34 a value of 79 digits": {"", "", replaced(`"value":"9"`, `"value":"`+strings.Repeat("9", 79)+`"`),
			relay.Malformed},
		"a name twice":             {"", "", replaced(`"value":"9"`, `"value":"9","value":"9"`), relay.Malformed},
		"REL-SUB-36 SSZ cut short": {"", isSSZ, ssz[:len(ssz)-1], relay.Malformed},
		"REL-SUB-36 SSZ with more": {"", isSSZ, append(bytes.Clone(ssz), 0), relay.Malformed},
		"JSON that says SSZ":       {"", isSSZ, text, relay.Malformed},
		// slot 1 is deneb's, which has no requests
		"REL-SUB-25 another fork's form":    {"", isSSZ, at(1, ssz), relay.Malformed},
		"REL-SUB-29 an unknown version":     {"", "Eth-Consensus-Version: phase0", text, relay.UnknownFork},
		"REL-SUB-29 another fork's version": {"", "Eth-Consensus-Version: electra", text, relay.WrongFork},
		"text":                              {"", "Content-Type: text/plain", text, relay.UnsupportedMediaType},
		"an unknown encoding":               {"", "Content-Encoding: br", text, relay.UnsupportedMediaType},
		"plain that says gzip":              {"", "Content-Encoding: gzip", text, relay.BodyUnreadable},
		"plain that says zstd":              {"", "Content-Encoding: zstd", text, relay.BodyUnreadable},
		"REL-SUB-27 JSON that is too large": {"", "", bytes.Repeat([]byte(" "), maxJSON+1), relay.BodyTooLarge},
		"REL-SUB-27 SSZ that is too large":  {"", isSSZ, make([]byte, MaxSSZ+1), relay.BodyTooLarge},
		"REL-SUB-27 a bomb in gzip": {"", isSSZ + "Content-Encoding: gzip", packed(t, "gzip", make([]byte, MaxSSZ+1)),
			relay.BodyTooLarge},
		"REL-SUB-27 a bomb in zstd": {"", isSSZ + "Content-Encoding: zstd", packed(t, "zstd", make([]byte, MaxSSZ+1)),
			relay.BodyTooLarge},
		"cancellations of another word": {"?cancellations=maybe", "", text, relay.InvalidArgument},
		"a query that cannot be read":   {"?cancellations=%zz", "", text, relay.InvalidArgument},
		"a sequence of zero":            {"", "X-Sequence: 0", text, relay.SubmissionSequence},
		"a sequence that is negative":   {"", "X-Sequence: -1", text, relay.SubmissionSequence},
		"a sequence that is none":       {"", "X-Sequence: first", text, relay.SubmissionSequence},
		"a sequence beyond 2^64":        {"", "X-Sequence: 18446744073709551616", text, relay.SubmissionSequence},
		"a slot beyond 2^64": {"", "", replaced(`"slot":"65"`, `"slot":"18446744073709551616"`),
			relay.Malformed},
		"a slot that is hidden in a list": {"", "", []byte(`{"message":[{"slot":"65"}]}`), relay.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			d := &builderFakePorts{outcome: relay.Outcome{}}
			wantRefusal(t, askHandler(t, d.handler(), submitPath+row.query, row.headers, row.body), row.want)
			if d.received != nil {
				t.Error("the submission was passed on")
			}
		})
	}
}
