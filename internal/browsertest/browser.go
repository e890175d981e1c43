// Package browsertest has a page looked at in a real browser. It is for tests only.
package browsertest

import (
	"context"
	"os/exec"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Open starts Chromium with a window of that size, and ends it with the test, which fails of
// whatever a page complains of. A test without a browser fails, too: what was not looked at is not
// shown.
func Open(t *testing.T, widthPixels, heightPixels int) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Fatal("Chromium is needed (make install-needs)")
	}
	ends := context.WithoutCancel(t.Context()) // the browser ends in order, below
	allocator, stop := chromedp.NewExecAllocator(ends, chromedp.ExecPath(path), chromedp.NoFirstRun,
		chromedp.NoDefaultBrowserCheck, chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.Flag("headless", "new"), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true))
	t.Cleanup(stop)
	ctx, _ := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("the browser's files may be left: %v", err)
		}
	})
	var complaints sync.Map
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			complaints.Store(e.ExceptionDetails.Error(), nil)
		case *log.EventEntryAdded:
			// A connection that the test breaks is no fault of the page's.
			if e.Entry.Level == log.LevelError && e.Entry.Source != log.SourceNetwork {
				complaints.Store(e.Entry.Text, nil)
			}
		}
	})
	t.Cleanup(func() {
		complaints.Range(func(complaint, _ any) bool {
			t.Errorf("the page complains: %v", complaint)
			return true
		})
	})
	if err := chromedp.Run(ctx, log.Enable(), runtime.Enable(), chromedp.EmulateViewport(int64(widthPixels),
		int64(heightPixels))); err != nil {
		t.Fatal(err)
	}
	return ctx
}
