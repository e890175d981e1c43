package observe

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gavel-relay/gavel/internal/golden"
)

// What the build does not say is unknown and never empty, so that boards can group by it.
func TestDescribed(t *testing.T) {
	with := func(version, revision, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.26.5", Main: debug.Module{Version: version},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified}}}
	}
	for _, row := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{nil, "unknown unknown unknown"},
		{&debug.BuildInfo{}, "unknown unknown unknown"},
		{with("v1.2.3", "0badcafe", "false"), "v1.2.3 0badcafe go1.26.5"},
		{with("(devel)", "0badcafe", "true"), "(devel) 0badcafe+changes go1.26.5"},
		{with("(devel)", "", "true"), "(devel) unknown go1.26.5"},
	} {
		version, commit, goVersion := describeBuild(row.info)
		if got := version + " " + commit + " " + goVersion; got != row.want {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}

func TestBuildNamesServiceAndRegion(t *testing.T) {
	registry := prometheus.NewRegistry()
	Build(NewSet(registry), "relay", "eu-west")
	text := golden.Metrics(t, registry)
	if !strings.Contains(text, `service="relay"`) || !strings.Contains(text, `region="eu-west"`) ||
		!strings.HasSuffix(text, " 1\n") {
		t.Error(text)
	}
}
