package relay

import (
	"net/http"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

const statusPath = "/eth/v1/builder/status"

// describeStatus adds specs about GET /eth/v1/builder/status.
func describeStatus(r *specs) {
	r.It("REL-STA-01", "answers 200", func(t *suite.T) {
		t.Status(t.Get(proposerAPI(t), statusPath), http.StatusOK)
	})
	r.It("REL-STA-02", "answers without a body", func(t *suite.T) {
		answer := t.Get(proposerAPI(t), statusPath)
		t.Status(answer, http.StatusOK)
		if text := string(answer.Body); text == "{}" || text == "{}\n" {
			t.Lenient("an empty JSON object in place of no body")
			return
		}
		t.Check(len(answer.Body) == 0, "no body", answer)
	})
	r.It("REL-STA-03", "answers 405 to DELETE", func(t *suite.T) {
		t.Status(t.Do(proposerAPI(t), probe.Request{Method: http.MethodDelete, Path: statusPath}),
			http.StatusMethodNotAllowed)
	})
}
