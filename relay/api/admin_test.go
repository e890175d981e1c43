package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/registry"
)

const token = "a token of the operator"

// adminAPI has the real list of builders; evidence and switch are kept in memory.
type adminAPI struct {
	t        *testing.T
	list     *registry.Builders
	on       bool
	whys     []string
	mux      *serve.Mux
	handler  http.Handler
	evidence map[phase0.Hash32]*relay.Contents
	notKept  error
	facts    factLines
}

func (h *adminAPI) Record(fact relay.Fact) {
	if f, ok := fact.(relay.BuilderChanged); ok {
		h.whys = append(h.whys, f.Why)
	}
}

func (h *adminAPI) On() bool { return h.on }

func (h *adminAPI) Set(_ time.Time, on bool, why string) {
	h.on = on
	h.whys = append(h.whys, why)
}

func (h *adminAPI) Kept(_ context.Context, hash phase0.Hash32) (*relay.Contents, error) {
	return h.evidence[hash], nil
}

func newAdminAPI(t *testing.T) *adminAPI {
	t.Helper()
	h := &adminAPI{t: t, evidence: map[phase0.Hash32]*relay.Contents{}}
	var err error
	h.list, err = registry.NewBuilders([]relay.Builder{{
		Name: "alpha", Pubkeys: []phase0.BLSPubKey{bls.Derive("builder", 1).PublicKey()}, CollateralWei: uint256.NewInt(100),
	}}, h)
	if err != nil {
		t.Fatal(err)
	}
	mux := NewMux()
	MountAdmin(mux, AdminConfig{
		Clock: clock.NewStepped(time.Unix(1_700_000_000, 0)), Token: token, Records: h.list, Changes: h.list, Trust: h.list,
		Demotions: h.list,
		Evidence:  h, Switch: h, Facts: &h.facts, Kept: func(context.Context) error { return h.notKept },
		Status: func() Status {
			return Status{Ready: true, HeadSlot: 7, Validators: 3, Registrations: 2, KillSwitch: h.on, ValidatorLive: true}
		},
	})
	h.mux, h.handler = mux, mux
	return h
}

func (h *adminAPI) ask(method, path, authorization, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	answer := httptest.NewRecorder()
	h.handler.ServeHTTP(answer, r)
	return answer
}

// Every path needs the token: nothing is told to who does not have it.
func TestToken(t *testing.T) {
	h := newAdminAPI(t)
	for _, authorization := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Basic " + token, token, "Bearer " +
		token + " "} {
		for _, request := range []string{"GET /admin/v1/status", "GET /admin/v1/builders", "PUT /admin/v1/kill-switch",
			"DELETE /admin/v1/builders/alpha"} {
			method, path, _ := strings.Cut(request, " ")
			answer := h.ask(method, path, authorization, `{"on":true}`)
			if answer.Code != 401 || answer.Header().Get("WWW-Authenticate") != "Bearer" || h.on {
				t.Errorf("%s with %q: %d %s", request, authorization, answer.Code, answer.Body)
			}
		}
	}
	if answer := h.ask("GET", "/admin/v1/status", "bearer "+token, ""); answer.Code != 200 {
		t.Errorf("with the token: %d %s", answer.Code, answer.Body)
	}
}

// A change that would not outlive a restart is no success.
func TestChangesThatAreNotKept(t *testing.T) {
	h := newAdminAPI(t)
	h.notKept = errors.New("no journal")
	for request, body := range map[string]string{
		"PUT /admin/v1/kill-switch": `{"on":true}`, "POST /admin/v1/builders/alpha/promote": "",
		"PUT /admin/v1/builders/beta":     "{}",
		"DELETE /admin/v1/builders/alpha": "",
	} {
		if body == "" && strings.HasPrefix(request, "DELETE") {
			if err := h.list.Set(time.Unix(1, 0), relay.Builder{Name: "alpha"}, "to be removed"); err != nil {
				t.Fatal(err)
			}
		}
		method, path, _ := strings.Cut(request, " ")
		if answer := h.ask(method, path, "Bearer "+token, body); answer.Code != 503 ||
			!strings.Contains(answer.Body.String(), relay.AdminNotKept.Short) {
			t.Errorf("%s: %d %s", request, answer.Code, answer.Body)
		}
	}
	if !h.on {
		t.Error("the switch is not in force")
	}
}

// The whole conversation of an operator.
func TestTranscript(t *testing.T) {
	h := newAdminAPI(t)
	reason := relay.Demotion{Trace: relay.Trace{Slot: 5, BlockHash: phase0.Hash32{1}, ValueWei: uint256.NewInt(7)},
		Rule: "state", Detail: "root differs"}
	var out bytes.Buffer
	say := func(request, body string) {
		method, path, _ := strings.Cut(request, " ")
		answer := h.ask(method, path, "Bearer "+token, body)
		fmt.Fprintf(&out, "> %s %s\n< %d", request, body, answer.Code)
		if answer.Body.Len() > 0 {
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, answer.Body.Bytes(), "  ", "  "); err != nil {
				t.Errorf("%s: %q is no JSON", request, answer.Body)
			}
			fmt.Fprintf(&out, " %s", pretty.String())
		}
		out.WriteString("\n\n")
	}
	key := bls.Derive("builder", 2).PublicKey()
	say("GET /admin/v1/status", "")
	say("GET /admin/v1/builders", "")
	say("POST /admin/v1/builders/alpha/promote", `{"why":"new collateral"}`)
	if err := h.list.Demote(time.Unix(1_700_000_001, 0).UTC(), "alpha", reason); err != nil {
		t.Fatal(err)
	}
	say("GET /admin/v1/demotions", "")
	say("GET /admin/v1/builders/alpha", "")
	say("PUT /admin/v1/builders/beta", fmt.Sprintf(`{"pubkeys":["%#x"],"high_priority":true,"why":"quick"}`, key[:]))
	say("POST /admin/v1/builders/beta/promote", "")
	say("PUT /admin/v1/builders/beta", `{"name":"gamma"}`)
	say("PUT /admin/v1/builders/beta", `{"collateral":"1"}`)
	say("POST /admin/v1/builders/alpha/suspend", `{"why":"maintenance"}`)
	say("DELETE /admin/v1/builders/beta?why=gone", "")
	say("DELETE /admin/v1/builders/beta", "")
	say("GET /admin/v1/builders/beta", "")
	say("POST /admin/v1/builders/beta/promote", "")
	say("PUT /admin/v1/kill-switch", `{"on":true,"why":"a bug"}`)
	say("GET /admin/v1/kill-switch", "")
	say("PUT /admin/v1/kill-switch", `{}`)
	say("PUT /admin/v1/kill-switch", `{"on":false} {}`)
	say("GET /admin/v1/demotions/0x12/submission", "")
	say("GET /admin/v1/demotions/0x"+strings.Repeat("ab", 32)+"/submission", "")
	say("POST /admin/v1/status", "")
	fmt.Fprintf(&out, "reasons told: %q\n", h.whys)
	golden.File(t, "testdata/transcript.txt", out.String())
}

func TestEvidence(t *testing.T) {
	h := newAdminAPI(t)
	hash := phase0.Hash32{9}
	h.evidence[hash] = &relay.Contents{
		Fork: eth.Fulu, Trace: &builderv1.BidTrace{Slot: 5, BlockHash: hash, Value: uint256.NewInt(1)},
		Requests: payload.EmptyRequests(),
		Payload:  &payload.Payload{BlockHash: hash, BaseFeePerGas: uint256.NewInt(7)}, Blobs: &payload.Blobs{},
	}
	answer := h.ask("GET", fmt.Sprintf("/admin/v1/demotions/%#x/submission", hash[:]), "Bearer "+token, "")
	if answer.Code != 200 || answer.Header().Get("Content-Type") != "application/octet-stream" ||
		answer.Header().Get("Eth-Consensus-Version") != "fulu" {
		t.Fatalf("%d %v", answer.Code, answer.Header())
	}
	// the slot and the block hash of the message
	if raw := answer.Body.Bytes(); raw[0] != 5 || !bytes.Equal(raw[40:72], hash[:]) {
		t.Errorf("%x", raw[:80])
	}
}
