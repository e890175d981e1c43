package send

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// Whoever follows another order reads nothing of that one in what builders say, or in why theirs
// could not be said to a builder; others read all.
func TestWordsOfFollowers(t *testing.T) {
	theirs := &rpc.Bundle{
		Elements: []rpc.Element{{Tx: &rpc.Transaction{Raw: []byte{2}, Hash: common.Hash{3}}}},
		Shares:   []rpc.Share{{Address: common.Address{4}, Percent: 10}, {Address: common.Address{5}, Percent: 20}},
	}
	for name, c := range map[string]struct {
		answer           string
		split            bool
		plain, following string
	}{
		"the builder's words": {
			`{"error":{"code":-32000,"message":"nonce too low: address 0x1234"}}`, false,
			`refused: -32000 "nonce too low: address 0x1234"`, "refused: -32000",
		},
		"its terms": {taken, true, "convert to eth_sendBundle: order cannot be converted: the refund goes to 2 addresses",
			"order cannot be converted"},
		"the network": {`{}`, false, "the answer has neither result nor error", "the answer has neither result nor error"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{builders: map[string]func(context.Context, int) (int, string, error){
					"a": func(context.Context, int) (int, string, error) { return 200, c.answer, nil },
				}}
				s, end := start(t, Config{Builders: Registry{{Name: "a", URL: "http://a", APIs: []string{APICancel}, Own: true}},
					Client: w})
				var said []string
				for _, follows := range []uint64{0, 9} {
					o := order(10+follows, 0)
					o.Follows = follows
					if c.split {
						o.Bundle.Elements = []rpc.Element{{Bundle: theirs}, o.Bundle.Elements[0]}
						o.Bundle.Refunds = []rpc.ElementRefund{{Element: 0, Percent: 90}}
					}
					s.Send(o, 7, func(d rpc.Delivery) { said = append(said, d.Error) })
					synctest.Wait()
				}
				end()
				if got := strings.Join(said, "; "); got != fmt.Sprintf("%s; %s", c.plain, c.following) {
					t.Errorf("got  %s\nwant %s; %s", got, c.plain, c.following)
				}
			})
		})
	}
}
