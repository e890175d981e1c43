package stream

import (
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/suite/rpc"
)

// Schemas adds the specs that compare the answers and events of a stream with its OpenAPI document.
func Schemas(s *suite.Set, document *suite.Document) {
	s.Schemas("stream", document, map[string]func(*suite.T){
		"live":          tourLive,
		"history":       tourHistory,
		"historyByPost": tourHistoryByPost,
		"historyInfo":   func(t *suite.T) { t.Get(client(t), historyPath+"/info") },
	})
}

// The tours have the target answer an operation in all forms. Events need a world and its RPC.

func tourLive(t *suite.T) {
	open(t).Close()
	if t.World == nil || t.Target.RPC == nil {
		return
	}
	for _, hints := range [][]string{{"hash"}, {"full"}, {"tx_hash", "logs"}} {
		shareBundle(t, hints, rpc.NewWallet(t).Transfer(1))
	}
}

func tourHistory(t *suite.T) {
	t.Get(client(t), historyPath+"?limit=x")
	if t.World != nil && t.Target.RPC != nil {
		causeEvents(t, 1)
	}
	t.Get(client(t), historyPath)
}

func tourHistoryByPost(t *suite.T) {
	for _, body := range []string{"{}", "{"} {
		t.Do(client(t), probe.Request{Method: "POST", Path: historyPath,
			Header: map[string]string{"Content-Type": "application/json"},
			Body:   []byte(body)})
	}
}
