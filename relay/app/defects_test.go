package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

// The tests of this file are about what deployed relays do wrong. Each name says what went wrong
// there; each test would fail there.

func TestAuctionDefects(t *testing.T) {
	h := newRelay(t, eth.Capella, relayOptions{})
	t.Run("two bids at once, and the lower one leads", func(t *testing.T) {
		// Both builders bid cancellable, now one higher, now the other: whoever works with an outdated
		// view of the other loses an update.
		var bodies [2][2][]byte
		var hashes [2]string
		for builder := range 2 {
			for turn := range 2 {
				s := h.worth(t, builder, 1000+200*uint64((builder+turn)%2))
				bodies[turn][builder] = s.ssz(t)
				if (builder+turn)%2 == 1 {
					hashes[turn] = fmt.Sprintf("%#x", s.payload.BlockHash[:])
				}
			}
		}
		for trial := range 300 {
			turn := trial % 2
			var both sync.WaitGroup
			for builder := range 2 {
				both.Go(func() {
					got, err := h.try(t.Context(), http.MethodPost, submitPath+"?cancellations=1", sszHeader(h.fork),
						bodies[turn][builder])
					if err != nil || got.status != http.StatusOK {
						t.Errorf("%v, %s", err, got)
					}
				})
			}
			both.Wait()
			if b := h.header(t); b == nil || b.Data.Message.Header["block_hash"] != hashes[turn] {
				t.Fatalf("trial %d: served is %+v, want %s", trial, b, hashes[turn])
			}
		}
	})
	h.skip(t)
	t.Run("a losing bid is thrown away, and cannot lead when the better one is cancelled", func(t *testing.T) {
		best, second, less := h.worth(t, 0, 1200), h.worth(t, 1, 1000), h.worth(t, 0, 500)
		h.submitted(t, best)
		h.submitFinal(t, second).wantStatus(t, http.StatusOK)
		h.wantTop(t, best)
		h.submit(t, less).wantStatus(t, http.StatusAccepted) // below the floor that the second bid made
		h.wantTop(t, second)
		h.into(0) // and its payload is there too
		h.wantRevealed(t, v1Path, h.reveal(t, v1Path, h.blind(t, h.header(t))), second)
	})
	h.next(t)
	t.Run("the payload waits for the validation of other submissions", func(t *testing.T) {
		s, other := h.worth(t, 0, 1000), h.worth(t, 1, 2000)
		b := h.offered(t, s)
		gate := h.gate.hold(other.trace.BlockHash)
		pending := h.goSubmit(t, other)
		<-gate.arrived
		h.wantRevealed(t, v2Path, h.reveal(t, v2Path, b), s) // would never come back
		h.wantRevealed(t, v1Path, h.reveal(t, v1Path, b), s)
		close(gate.open)
		(<-pending).wantRefusal(t, relay.SubmissionDelivered, "")
	})
	h.next(t)
	t.Run("signed fields of the message are not compared", func(t *testing.T) {
		for want, change := range map[relay.Refusal]func(*builderv1.BidTrace){
			relay.SubmissionWrongProposer: func(m *builderv1.BidTrace) { m.ProposerPubkey = stranger.PublicKey() },
			relay.SubmissionTraceGasLimit: func(m *builderv1.BidTrace) { m.GasLimit-- },
			relay.SubmissionTraceGasUsed:  func(m *builderv1.BidTrace) { m.GasUsed-- },
		} {
			s := h.good(t)
			change(s.trace)
			s.sign()
			h.submit(t, s).wantRefusal(t, want, "")
		}
	})
}

func TestDeliveryDefects(t *testing.T) {
	h := newRelay(t, eth.Bellatrix, relayOptions{})
	failed := func(t *testing.T) { // a slot whose block was signed, but refused and not published
		b := h.offered(t, h.good(t))
		t.Run("202 though no node took the block", func(t *testing.T) {
			h.allAnswer(status(http.StatusInternalServerError))
			h.reveal(t, v2Path, b).wantRefusal(t, relay.PayloadNotPublished, "")
			h.reveal(t, v1Path, b).wantRefusal(t, relay.PayloadNotPublished, "")
			h.passOn()
		})
		h.into(5 * time.Second)
		h.reveal(t, v1Path, b).wantRefusal(t, relay.PayloadTooLate, "")
	}
	t.Run("refused and unpublished payloads are listed as delivered", func(t *testing.T) {
		failed(t)
		h.skip(t)
		h.deliver(t, h.good(t))
		delivered := fmt.Sprintf("%s?slot=%d", deliveredPath, h.slot)
		poll(t, "the delivery is listed", func() bool { return len(h.listed(t, delivered)) == 1 })
		// What happened earlier has reached the archive earlier.
		if rows := h.listed(t, deliveredPath); len(rows) != 1 {
			t.Errorf("%d rows, want the one delivery: %v", len(rows), rows)
		}
	})
	h.next(t)
	for _, first := range []int{0, 1} {
		t.Run(fmt.Sprintf("the last of two answers decides a publication, %s",
			[]string{"202 then 400", "400 then 202"}[first]), func(t *testing.T) {
			s := h.good(t)
			b := h.offered(t, s)
			answered := make(chan struct{})
			after := func(w http.ResponseWriter, code int) {
				<-answered
				w.WriteHeader(code)
			}
			codes := [2]int{http.StatusAccepted, http.StatusBadRequest}
			h.fronts[first].answers(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(codes[first])
				_ = http.NewResponseController(w).Flush() // the relay has it, or is about to
				close(answered)
			})
			h.fronts[1-first].answers(func(w http.ResponseWriter, _ *http.Request) { after(w, codes[1-first]) })
			h.wantRevealed(t, v1Path, h.reveal(t, v1Path, b), s)
			h.passOn()
			h.skip(t)
		})
	}
	t.Run("a node that hangs holds up the publication", func(t *testing.T) {
		s := h.good(t)
		b := h.offered(t, s)
		hang := make(chan struct{})
		defer close(hang)
		h.fronts[0].answers(func(http.ResponseWriter, *http.Request) { <-hang })
		h.wantRevealed(t, v1Path, h.reveal(t, v1Path, b), s)
		h.fronts[0].answers(nil)
	})
	h.next(t)
	t.Run("one of two equal requests at once loses a race", func(t *testing.T) {
		s := h.good(t)
		b := h.offered(t, s)
		arrived, accept := make(chan struct{}, 2), make(chan struct{})
		before := h.fronts[0].count()
		h.allAnswer(func(w http.ResponseWriter, _ *http.Request) {
			arrived <- struct{}{}
			<-accept
		})
		one, two := h.goReveal(t, v1Path, b), h.goReveal(t, v2Path, b)
		<-arrived
		<-arrived
		close(accept)
		if got := <-one; got.status != http.StatusOK {
			t.Error(got)
		}
		h.wantRevealed(t, v2Path, <-two, s)
		if n := h.fronts[0].count() - before; n != 1 {
			t.Errorf("published %d times", n)
		}
		h.passOn()
	})
}

// Publishing has a deadline: when all nodes hang, the proposer is told.
func TestHangingNodes(t *testing.T) {
	h := newRelay(t, eth.Bellatrix, relayOptions{configure: func(cfg *app.Config) {
		cfg.PublishTimeout = 50 * time.Millisecond
	}})
	t.Run("a publication without a deadline waits for ever", func(t *testing.T) {
		b := h.offered(t, h.good(t))
		hang := make(chan struct{})
		defer close(hang)
		h.allAnswer(func(http.ResponseWriter, *http.Request) { <-hang })
		h.reveal(t, v1Path, b).wantRefusal(t, relay.PayloadNotPublished, "")
	})
}

func TestRegistrationDefects(t *testing.T) {
	h := newRelay(t, eth.Bellatrix, relayOptions{})
	t.Run("one bad entry drops others of its batch", func(t *testing.T) {
		var batch []*builderv1.SignedValidatorRegistration
		for i := range phase0.ValidatorIndex(7) {
			r := h.registration(i)
			r.Message.GasLimit++
			h.signRegistration(r, h.beacon.ValidatorKey(i))
			batch = append(batch, r)
		}
		batch[1].Message.Pubkey = stranger.PublicKey()
		h.signRegistration(batch[1], stranger)
		// a signature, but another's
		h.signRegistration(batch[3], stranger)
		// no signature at all
		batch[5].Signature = phase0.BLSSignature(bytes.Repeat([]byte{0xff}, 96))
		raw := bytes.Replace(h.encoded(t, batch), []byte(`"signature":"0x`), []byte(`"signature":"`), 1) // the first: no 0x
		got := h.post(t, "/eth/v1/builder/validators", jsonHeader(), raw)
		got.wantRefusal(t, relay.RegistrationsInvalid, "")
		var answered struct {
			Failures []struct {
				Index   int    `json:"index"`
				Message string `json:"message"`
			} `json:"failures"`
		}
		must(t, json.Unmarshal(got.body, &answered))
		var refused []int
		for _, failure := range answered.Failures {
			refused = append(refused, failure.Index)
		}
		if slices.Sort(refused); !slices.Equal(refused, []int{0, 1, 3, 5}) {
			t.Errorf("refused %v, want 0, 1, 3 and 5: %s", refused, got)
		}
		for _, i := range []int{2, 4, 6} {
			path := fmt.Sprintf("%s?pubkey=%#x", registrationPath, batch[i].Message.Pubkey[:])
			want := fmt.Sprintf(`"gas_limit":"%d"`, batch[i].Message.GasLimit)
			poll(t, fmt.Sprintf("entry %d is stored", i), func() bool {
				return strings.Contains(string(h.get(t, path, nil).body), want)
			})
		}
	})
	t.Run("gzip is not decoded", func(t *testing.T) {
		r := h.registration(9)
		r.Message.GasLimit++
		h.signRegistration(r, h.beacon.ValidatorKey(9))
		header := jsonHeader()
		header.Set("Content-Encoding", "gzip")
		h.post(t, "/eth/v1/builder/validators", header,
			zip(t, h.encoded(t, []*builderv1.SignedValidatorRegistration{r}))).wantStatus(t, http.StatusOK)
	})
}

func (h *relayUnderTest) encoded(t testing.TB, list []*builderv1.SignedValidatorRegistration) []byte {
	t.Helper()
	raw, err := json.Marshal(list)
	must(t, err)
	return raw
}

func TestDataDefects(t *testing.T) {
	h := newRelay(t, eth.Bellatrix, relayOptions{})
	for wei := range uint64(3) { // each above the floor
		h.submitFinal(t, h.worth(t, 0, 1000+wei)).wantStatus(t, http.StatusOK)
	}
	all := receivedPath + "?slot=1"
	poll(t, "the submissions are listed", func() bool { return len(h.listed(t, all)) == 3 })
	t.Run("the limit is ignored", func(t *testing.T) {
		row := h.listed(t, all)[0]
		for _, filter := range []string{"slot=1", "block_number=1", fmt.Sprint("builder_pubkey=", row["builder_pubkey"])} {
			if rows := h.listed(t, receivedPath+"?limit=1&"+filter); len(rows) != 1 {
				t.Errorf("%s: %d rows", filter, len(rows))
			}
		}
	})
	t.Run("negative numbers pass as filters, or break the query", func(t *testing.T) {
		for _, path := range []string{
			receivedPath + "?slot=-1", receivedPath + "?block_number=-1", receivedPath + "?slot=1&limit=-1",
			deliveredPath + "?slot=-1",
			fmt.Sprint(receivedPath, "?limit=-1&builder_pubkey=", h.listed(t, all)[0]["builder_pubkey"]),
			deliveredPath + "?limit=-1",
			deliveredPath + "?block_number=-1", deliveredPath + "?cursor=-1",
		} {
			h.get(t, path, nil).wantRefusal(t, relay.InvalidArgument, "")
		}
	})
	t.Run("capitals in hexadecimal find nothing", func(t *testing.T) {
		row := h.listed(t, all)[0]
		for _, name := range []string{"block_hash", "builder_pubkey"} {
			path := fmt.Sprintf("%s?%s=%s", receivedPath, name, capitals(row[name].(string)))
			if rows := h.listed(t, path); len(rows) == 0 {
				t.Errorf("%s: nothing", path)
			}
		}
		registered := h.registration(4).Message.Pubkey
		path := registrationPath + "?pubkey=" + capitals(fmt.Sprintf("%#x", registered[:]))
		poll(t, "the registration is found", func() bool { return h.get(t, path, nil).status == http.StatusOK })
		parts := strings.Split(h.headerPath(), "/")
		last := len(parts) - 1
		parts[last-1], parts[last] = capitals(parts[last-1]), capitals(parts[last])
		h.get(t, strings.Join(parts, "/"), nil).wantStatus(t, http.StatusOK)
	})
	t.Run("a header in JSON does not name its version", func(t *testing.T) {
		if got := h.get(t, h.headerPath(), nil); got.header.Get("Eth-Consensus-Version") != "bellatrix" {
			t.Errorf("%v", got.header)
		}
	})
}

// capitals writes the digits of a 0x text in capitals.
func capitals(text string) string { return "0x" + strings.ToUpper(text[2:]) }

func TestHTTPDefects(t *testing.T) {
	h := newRelay(t, eth.Bellatrix, relayOptions{})
	t.Run("zstd is taken for plain bytes, and so is what nobody knows", func(t *testing.T) {
		s := h.good(t)
		header := sszHeader(h.fork)
		header.Set("Content-Encoding", "zstd")
		h.post(t, submitPath+"?cancellations=1", header, zstandard(t, s.ssz(t))).wantStatus(t, http.StatusOK)
		for _, encoding := range []string{"br", "gzip, gzip", "deflate"} {
			header.Set("Content-Encoding", encoding)
			h.post(t, submitPath, header, s.ssz(t)).wantRefusal(t, relay.UnsupportedMediaType, "")
		}
	})
	t.Run("a long body is cut in silence", func(t *testing.T) {
		body := h.good(t).json(t)
		padded := func(n int) []byte {
			return append(append([]byte(`{"padding":"`), bytes.Repeat([]byte{'x'}, n)...), append([]byte(`",`), body[1:]...)...)
		}
		h.post(t, submitPath+"?cancellations=1", jsonHeader(), padded(16<<20)).wantStatus(t, http.StatusOK)
		h.post(t, submitPath, jsonHeader(), padded(33<<20)).wantRefusal(t, relay.BodyTooLarge, "")
		h.post(t, submitPath, sszHeader(h.fork), make([]byte, 17<<20)).wantRefusal(t, relay.BodyTooLarge, "")
	})
	t.Run("405 without Allow", func(t *testing.T) {
		for path, allow := range map[string]string{
			submitPath: "POST", v1Path: "POST", v2Path: "POST", "/eth/v1/builder/validators": "POST",
			h.headerPath():           "GET, HEAD",
			"/eth/v1/builder/status": "GET, HEAD", deliveredPath: "GET, HEAD", receivedPath: "GET, HEAD",
		} {
			got := h.do(t, http.MethodDelete, path, nil, nil)
			got.wantRefusal(t, relay.MethodNotAllowed, "")
			if got.header.Get("Allow") != allow {
				t.Errorf("%s: Allow is %q, want %q", path, got.header.Get("Allow"), allow)
			}
		}
	})
	t.Run("an unknown path is answered in plain text, an unclean one with a redirect", func(t *testing.T) {
		for _, path := range []string{"/nowhere", "/eth/v1/builder/status/", "/eth/v1//builder/status",
			"/eth/v1/builder/header/1/2"} {
			h.get(t, path, nil).wantRefusal(t, relay.NotFound, "")
		}
	})
	t.Run("two error bodies in one answer", func(t *testing.T) {
		b := h.offered(t, h.good(t))
		_, proposer := h.duty(h.slot)
		b.body()["execution_payload_header"].(map[string]any)["block_hash"] = "0x" + strings.Repeat("17", 32)
		b.sign(t, proposer, h.spec.ProposerDomain(h.slot))
		for _, path := range []string{v1Path, v2Path} {
			h.reveal(t, path, b).wantRefusal(t, relay.PayloadUnknown, "") // two documents are none
		}
	})
}
