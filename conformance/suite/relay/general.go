package relay

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// refusal is the body of an error answer (builder-specs).
type refusal struct {
	Code    *int    `json:"code"`
	Message *string `json:"message"`
}

// checkRefusal fails the spec unless the answer is a refusal in the documented form.
func checkRefusal(t *suite.T, answer *probe.Answer) {
	var r refusal
	err := answer.JSON(&r)
	t.Check(err == nil && r.Code != nil && r.Message != nil, "one JSON object with code and message", answer)
	if *r.Code != answer.Status {
		t.Lenient("code %d beside status %d", *r.Code, answer.Status)
	}
}

const zeroHash = "0x0000000000000000000000000000000000000000000000000000000000000000"

// someKey is a valid public key that no validator of the world has.
var someKey = fmt.Sprintf("%#x", probe.DeriveBLSKey("nobody").Public[:])

// readsRegistrations ends the spec as inconclusive unless the target refuses what is no list of
// registrations: who answers 200 to that has read nothing.
func readsRegistrations(t *suite.T) {
	t.Prepared(t.Do(proposerAPI(t), post(registerPath, jsonType, []byte("not json"))), "send what is no registration",
		http.StatusBadRequest)
}

// describeGeneral adds specs about rules that all operations have in common.
func describeGeneral(r *specs) {
	r.It("REL-GEN-01", "serves its paths below /eth/v1/builder", func(t *suite.T) {
		t.Status(t.Get(proposerAPI(t), statusPath), http.StatusOK)
		prefixless := t.Get(proposerAPI(t), "/builder/status")
		if prefixless.Status == http.StatusOK {
			t.Lenient("the path is known without its prefix as well")
		}
		unknown := t.Get(proposerAPI(t), "/conformance-suite-asks-for-nothing/status")
		t.Check(unknown.Status != http.StatusOK, "another status than 200 below a prefix that nobody serves", unknown)
	})
	r.It("REL-GEN-02", "refuses a malformed registration in the form of an error", func(t *suite.T) {
		answer := t.Do(proposerAPI(t), post("/eth/v1/builder/validators", jsonType, []byte("{")))
		t.Status(answer, http.StatusBadRequest)
		checkRefusal(t, answer)
	})
	r.It("REL-GEN-02", "refuses a malformed block in the form of an error", func(t *suite.T) {
		answer := t.Do(builderAPI(t), post(submitPath, jsonType, []byte("{")))
		t.Status(answer, http.StatusBadRequest)
		checkRefusal(t, answer)
	})
	r.It("REL-GEN-03", "answers 404 to a path that it does not have", func(t *suite.T) {
		t.Status(t.Get(proposerAPI(t), "/eth/v1/builder/conformance-suite-asks-for-nothing"), http.StatusNotFound)
		t.Prepared(t.Get(proposerAPI(t), statusPath), "ask for a path that it has", http.StatusOK)
	})
	r.It("REL-GEN-04", "never answers 5xx to malformed input", func(t *suite.T) {
		seen := false // or nothing was read that could be malformed
		for _, request := range malformedRequests() {
			api := proposerAPI(t)
			switch {
			case strings.HasPrefix(request.Path, "/relay/v1/data"):
				api = dataAPI(t)
			case strings.HasPrefix(request.Path, "/relay/v1/builder"):
				api = builderAPI(t)
			}
			answer := t.Do(api, request)
			t.Check(answer.Status < 500, "a status below 500 for "+request.Method+" "+request.Path, answer)
			seen = seen || answer.Status >= http.StatusBadRequest
		}
		if !seen {
			t.Inconclusive("no malformed input is refused")
		}
		t.Prepared(t.Get(proposerAPI(t), statusPath), "ask for the status", http.StatusOK)
	})
	r.It("REL-GEN-05", "takes requests without authentication", func(t *suite.T) {
		answer := t.Do(proposerAPI(t), post("/eth/v1/builder/validators", jsonType, []byte("[]")))
		t.Check(answer.Status != http.StatusUnauthorized && answer.Status != http.StatusForbidden,
			"neither 401 nor 403", answer)
		t.Status(t.Get(proposerAPI(t), statusPath), http.StatusOK)
		readsRegistrations(t)
	})
	r.It("REL-GEN-06", "answers 429 with Retry-After beyond its rate", func(t *suite.T) {
		t.RetryAfter(t.Limited(*t.Target.Limits.Relay, probe.Request{Method: http.MethodGet, Path: statusPath}))
	})
	r.It("REL-GEN-07", "keeps v1 of blinded_blocks beside v2", func(t *suite.T) {
		answer := t.Do(proposerAPI(t), post("/eth/v1/builder/blinded_blocks", jsonType, []byte("{}")))
		t.Status(answer, http.StatusBadRequest)
	})
	r.It("REL-GEN-09", "answers many requests at once", func(t *suite.T) {
		statuses := make([]int, 32)
		var group sync.WaitGroup
		for i := range statuses {
			group.Go(func() {
				path := statusPath
				if i%2 == 1 {
					path = "/eth/v1/builder/header/1/" + zeroHash + "/0x12"
				}
				if answer, err := proposerAPI(t).Do(t, probe.Request{Method: http.MethodGet, Path: path}); err == nil {
					statuses[i] = answer.Status
				}
			})
		}
		group.Wait()
		for i, got := range statuses {
			t.Check(i%2 == 0 && got == 200 || i%2 == 1 && (got == 400 || got == 404),
				"200 for status and 400 for a malformed key", fmt.Sprint(got))
		}
	})
}

// malformedRequests returns requests that are malformed in many ways.
func malformedRequests() (list []probe.Request) {
	for _, path := range []string{"/eth/v1/builder/validators", "/eth/v1/builder/blinded_blocks", submitPath} {
		for _, body := range []string{"", "null", "1", `"x"`, "[[]]", `{"message":1}`, `[{"message":null}]`, "[1,",
			strings.Repeat("[", 10_000), "\x00\xff"} {
			list = append(list, post(path, jsonType, []byte(body)), post(path, sszType, []byte(body)))
		}
	}
	for _, path := range []string{"/-1/" + zeroHash + "/" + someKey, "/1/0x/" + someKey, "/1/" + zeroHash + "/0xzz",
		"/18446744073709551616/" + zeroHash + "/" + someKey} {
		list = append(list, probe.Request{Method: http.MethodGet, Path: "/eth/v1/builder/header" + path})
	}
	for _, query := range []string{"proposer_payload_delivered?limit=x", "proposer_payload_delivered?slot=-1",
		"builder_blocks_received?slot=1e3", "proposer_payload_delivered?limit=-1", "builder_blocks_received?slot=1&limit=-1",
		"proposer_payload_delivered?cursor=-1", "proposer_payload_delivered?block_number=-1",
		"builder_blocks_received?slot=-1", "builder_blocks_received?limit=-1&builder_pubkey=" + someKey} {
		list = append(list, probe.Request{Method: http.MethodGet, Path: "/relay/v1/data/bidtraces/" + query})
	}
	return list
}
