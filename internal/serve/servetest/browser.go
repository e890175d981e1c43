package servetest

import (
	"context"
	"os/exec"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// OpenBrowser starts Chromium with a window of that size and stops it at the end of the test.
// Exceptions and logged errors of a page fail the test. The test also fails if there is no browser:
// a skipped test would show nothing about the page.
func OpenBrowser(t testing.TB, widthPixels, heightPixels int) context.Context {
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
	ends := context.WithoutCancel(t.Context()) // the first cleanup below closes the browser in order
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
			// A connection that the test breaks is not the page's fault.
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
