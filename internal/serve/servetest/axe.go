//go:build axe

package servetest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// CheckAccessible opens each address in the browser, in light and dark, on a desk and on a phone,
// and wants no violation of axe-core's rules. prepare runs on each page before it is judged. The
// environment variable GAVEL_AXE is the path of axe.min.js (scripts/pages.sh).
func CheckAccessible(t *testing.T, browser context.Context, addresses []string, prepare ...chromedp.Action) {
	t.Helper()
	source, err := os.ReadFile(os.Getenv("GAVEL_AXE"))
	if err != nil {
		t.Fatalf("axe-core is needed (make test-pages): %v", err)
	}
	for _, address := range addresses {
		for _, theme := range []string{"light", "dark"} {
			for _, widthPixels := range []int64{1200, 320} {
				var found string
				actions := append([]chromedp.Action{
					chromedp.EmulateViewport(widthPixels, 900),
					emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}),
					chromedp.Navigate(address)}, prepare...)
				actions = append(actions, chromedp.Evaluate(string(source), nil),
					chromedp.Evaluate(`axe.run().then(r => JSON.stringify({passed: r.passes.length, wrong: r.violations.map(v => `+
						`v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 300) + " " + n.failureSummary).join("; "))}))`,
						&found, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
				if err := chromedp.Run(browser, actions...); err != nil {
					t.Fatalf("%s: %v", address, err)
				}
				var judged struct {
					Passed int
					Wrong  []string
				}
				if err := json.Unmarshal([]byte(found), &judged); err != nil {
					t.Fatal(err)
				}
				where := fmt.Sprintf("%.200s, %s, %d wide", address, theme, widthPixels)
				if judged.Passed < 10 {
					t.Errorf("%s: only %d rules were judged", where, judged.Passed)
				}
				for _, one := range judged.Wrong {
					t.Errorf("%s: %s", where, one)
				}
			}
		}
	}
}
