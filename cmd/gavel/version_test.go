package main

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	build := []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "amd64"}}
	commit := append([]debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
		{Key: "vcs.modified", Value: "true"},
	}, build...)
	for _, c := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{nil, "gavel (built without module support)"},
		{
			&debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: "(devel)"}, Settings: build},
			"gavel (devel) go1.26.0 linux/amd64",
		},
		{
			&debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: "v0.1.0"}, Settings: commit},
			"gavel v0.1.0 commit 0123456789ab+changes of 2026-01-02T03:04:05Z go1.26.0 linux/amd64",
		},
	} {
		if got := version(c.info); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
