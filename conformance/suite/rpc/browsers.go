package rpc

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// page is the origin of a page in a browser.
const page = "https://wallet.example"

// checkReadable fails the spec unless the headers allow the page to read the answer.
func checkReadable(t *suite.T, header http.Header) {
	from := header.Get("Access-Control-Allow-Origin")
	t.Check(from == "*" || from == page, "Access-Control-Allow-Origin of * or "+page, from)
}

// describeBrowsers adds specs about requests of pages in browsers, and requests for the service's
// description.
func describeBrowsers(s *suite.Set) {
	s.It("RPC-ENV-20", "lets a page sign", func(t *suite.T) {
		answer := t.Do(client(t), probe.Request{Method: http.MethodOptions, Path: "/", Header: map[string]string{
			"Origin": page, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type," +
				strings.ToLower(probe.SignatureHeader),
		}})
		if slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented},
			answer.Status) {
			t.Unsupported("%d to a preflight request", answer.Status)
		}
		t.Status(answer, http.StatusOK, http.StatusNoContent)
		checkReadable(t, answer.Header)
		may := strings.ToLower(answer.Header.Get("Access-Control-Allow-Headers"))
		for _, name := range []string{"content-type", strings.ToLower(probe.SignatureHeader)} {
			t.Check(may == "*" || strings.Contains(may, name), "Access-Control-Allow-Headers with "+name, may)
		}
	})
	s.It("RPC-ENV-20", "lets a page read the answer", func(t *suite.T) {
		body := harmlessBody(t)
		answer, err := client(t).Post(t, map[string]string{
			"Content-Type": "application/json", "Origin": page, probe.SignatureHeader: probe.BodySignature(key(t), body),
		}, body)
		t.Check(err == nil, "an answer", err)
		if answer.Header.Get("Access-Control-Allow-Origin") == "" && answer.Header.Get("Vary") == "" {
			preflight := t.Do(client(t), probe.Request{Method: http.MethodOptions, Path: "/", Header: map[string]string{
				"Origin": page, "Access-Control-Request-Method": "POST",
			}})
			if preflight.Header.Get("Access-Control-Allow-Origin") == "" {
				t.Unsupported("no page is let in")
			}
		}
		checkReadable(t, answer.Header)
	})
	s.It("RPC-ENV-21", "describes itself", func(t *suite.T) {
		document := askRefunds(t, "rpc.discover")
		var version string
		err := json.Unmarshal(document["openrpc"], &version)
		t.Check(err == nil && strings.HasPrefix(version, "1."), "openrpc 1.x", string(document["openrpc"]))
		var methods []struct {
			Name string `json:"name"`
		}
		err = json.Unmarshal(document["methods"], &methods)
		t.Check(err == nil, "methods as a list", err)
		for _, want := range []string{"eth_sendBundle", "mev_sendBundle", "eth_sendPrivateTransaction"} {
			t.Check(slices.ContainsFunc(methods, func(m struct {
				Name string `json:"name"`
			},
			) bool {
				return m.Name == want
			}), "a method "+want, len(methods))
		}
	})
}

// describeStatistics adds specs about the first versions of the methods about statistics.
func describeStatistics(s *suite.Set) {
	// has fails the spec unless an object has all members.
	has := func(t *suite.T, members map[string]json.RawMessage, names ...string) {
		for _, name := range names {
			t.Check(members[name] != nil, "the member "+name, members)
		}
	}
	s.It("RPC-VER-04", "answers flashbots_getUserStats", func(t *suite.T) {
		waitBegun(t)
		has(t, askRefunds(t, "flashbots_getUserStats", hexNumber(head(t))), "is_high_priority", "all_time_miner_payments",
			"all_time_gas_simulated",
			"last_7d_miner_payments", "last_7d_gas_simulated", "last_1d_miner_payments", "last_1d_gas_simulated")
	})
	s.It("RPC-VER-04", "answers flashbots_getBundleStats", func(t *suite.T) {
		w, signer := newWallet(t), key(t)
		tx := w.send(1)
		order := bundle(t, tx)
		if answer := call(t, signer, "eth_sendBundle", order); answer.Refused() {
			t.Inconclusive("the bundle is refused: %s", answer)
		}
		answer := call(t, signer, "flashbots_getBundleStats", object{"bundleHash": bundleHash(tx).Hex(),
			"blockNumber": order["blockNumber"]})
		if answer.Code() == -32601 {
			t.Unsupported("flashbots_getBundleStats is not known")
		}
		var members map[string]json.RawMessage
		readResult(t, answer, &members)
		has(t, members, "isSimulated", "isSentToMiners", "isHighPriority")
	})
}
