package app_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/internal/serve"
	relayapi "github.com/gavel-relay/gavel/relay/api"
	"github.com/gavel-relay/gavel/relay/top"
	"github.com/gavel-relay/gavel/rpc/method"
	streamapi "github.com/gavel-relay/gavel/stream/api"
)

// topBids is there so that the endpoint is.
type topBids struct{}

func (topBids) Listen(context.Context, time.Duration, top.Client) (*top.Listener, error) {
	return nil, context.Canceled
}

// mevRefunds has the methods that are named while methods are listed.
type mevRefunds struct{ method.MevRefunds }

// Each operation that our relay, stream and RPC serve to the public is in the documents, and each
// one in the documents is served.
func TestDocumentsAreComplete(t *testing.T) {
	documents, err := suite.LoadDocuments()
	if err != nil {
		t.Fatal(err)
	}
	relay, stream := new(serve.Mux), new(serve.Mux)
	relayapi.MountProposer(relay, relayapi.ProposerConfig{})
	relayapi.MountBuilder(relay, relayapi.BuilderConfig{TopBids: topBids{}})
	relayapi.MountData(relay, relayapi.DataConfig{})
	streamapi.MountLive(stream, streamapi.LiveConfig{})
	streamapi.MountHistory(stream, streamapi.HistoryConfig{})
	methods := []string{"rpc.discover"}
	for _, m := range (&method.Methods{Mev: mevRefunds{}}).All() {
		methods = append(methods, m.Name)
	}
	for iface, served := range map[string][]string{"relay": relay.Patterns(), "stream": stream.Patterns(),
		"rpc": methods} {
		served = slices.DeleteFunc(served, func(pattern string) bool {
			return strings.HasPrefix(pattern, "OPTIONS ")
		})
		for i := range served {
			served[i] = strings.Replace(served[i], "/{$}", "/", 1)
		}
		var described []string
		for _, op := range documents[iface].Operations {
			name := op.ID
			if op.Method != "" {
				name = op.Method + " " + op.Path
			}
			described = append(described, name)
		}
		slices.Sort(served)
		slices.Sort(described)
		if !slices.Equal(served, described) {
			t.Errorf("%s serves\n%s\nand the document has\n%s", iface, strings.Join(served, "\n"), strings.Join(described, "\n"))
		}
	}
}
