package send

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/rpc"
)

// TestTranscript shows, byte by byte, what builders with each set of APIs get on a real connection.
func TestTranscript(t *testing.T) {
	share := order(2, 0)
	share.Kind = rpc.KindShare
	share.Bundle.Refunds = []rpc.ElementRefund{{Element: 0, Percent: 90}}
	share.Bundle.Elements = append(share.Bundle.Elements, share.Bundle.Elements[0])
	split := order(3, 0)
	split.Bundle.Refunds = share.Bundle.Refunds
	split.Bundle.Shares = []rpc.Share{{Address: common.Address{4}, Percent: 50}, {Address: common.Address{5}, Percent: 50}}
	split.Bundle.Elements = []rpc.Element{{Bundle: &split.Bundle}, share.Bundle.Elements[0]}
	inner := rpc.Bundle{Elements: share.Bundle.Elements[:1], Shares: split.Bundle.Shares}
	split.Bundle.Elements[0].Bundle, split.Bundle.Shares = &inner, nil

	var b strings.Builder
	for _, apis := range [][]string{nil, {APIShare}, {APIBundle, APIShare}, {APIBundle, APICancel}} {
		for _, c := range []struct {
			title string
			order *rpc.Order
		}{
			{"a bundle", order(1, 0)}, {"a bundle that can be replaced", order(1, 5)}, {"a mev_sendBundle", share},
			{"a bundle whose refund is split", split},
		} {
			fmt.Fprintf(&b, "# %s, for a builder with %v\n", c.title, apis)
			b.WriteString(exchange(t, apis, c.order, false) + "\n")
		}
	}
	b.WriteString("# and its cancellation\n" + exchange(t, []string{APICancel}, order(1, 5), true))
	golden.File(t, filepath.Join("testdata", "transcript.txt"), b.String())
}

// exchange sends an order, or its cancellation, to a real server and tells what that got, and how
// the delivery ended.
func exchange(t *testing.T, apis []string, o *rpc.Order, cancel bool) string {
	t.Helper()
	var got strings.Builder
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(&got, "%s\nContent-Type: %s\nX-Signature: %s\n\n%s\n", r.Method, r.Header.Get("Content-Type"),
			r.Header.Get("X-Signature"), body)
		if _, err := io.WriteString(w, taken); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	s, end := start(t, Config{
		Builders: Registry{{Name: "default", URL: server.URL, APIs: apis}},
		Header:   "X-Signature", Sign: func(body []byte) string { return fmt.Sprintf("signed %d bytes", len(body)) },
	})
	if cancel {
		s.Cancel(o, []string{"default"})
		end()
		return got.String()
	}
	s.Send(o, 7, func(d rpc.Delivery) {
		if d.Error != "" {
			fmt.Fprintf(&got, "not sent: %s\n", d.Error)
		}
	})
	end()
	return got.String()
}
