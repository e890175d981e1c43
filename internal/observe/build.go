package observe

import (
	"cmp"
	"runtime/debug"
)

// Build adds gavel_build_info: which build of which service runs where. The region is the
// operator's own word for the place, such as eu-west, and may be empty.
func Build(set *Set, service, region string) {
	info, _ := debug.ReadBuildInfo()
	version, commit, goVersion := describeBuild(info)
	set.GaugeVec("gavel_build_info",
		"1, with what runs as labels: the service, the version and commit that it was built from (`unknown` if the build "+
			"does not say), the version of Go, and the region that the operator named (`--region`).",
		"service", "version", "commit", "go", "region").WithLabelValues(service, version, commit, goVersion, region).Set(1)
}

// describeBuild returns version, commit and Go of a build; unknown where the build does not say. A
// commit with changes that were not committed ends with +changes.
func describeBuild(info *debug.BuildInfo) (version, commit, goVersion string) {
	const unknown = "unknown"
	if info == nil {
		return unknown, unknown, unknown
	}
	changed := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+changes"
		}
	}
	if commit != "" {
		commit += changed
	}
	return cmp.Or(info.Main.Version, unknown), cmp.Or(commit, unknown), cmp.Or(info.GoVersion, unknown)
}
