package main

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/urfave/cli/v3"
)

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "say what was built, from which commit and with which Go",
		Action: func(_ context.Context, cmd *cli.Command) error {
			info, _ := debug.ReadBuildInfo()
			_, err := fmt.Fprintln(cmd.Root().Writer, version(info))
			return err
		},
	}
}

// version describes the build in one line. It leaves out what the build does not know.
func version(info *debug.BuildInfo) string {
	if info == nil {
		return "gavel (built without module support)"
	}
	line := "gavel " + info.Main.Version
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if commit := settings["vcs.revision"]; commit != "" {
		line += " commit " + commit[:min(12, len(commit))]
		if settings["vcs.modified"] == "true" {
			line += "+changes"
		}
		line += " of " + settings["vcs.time"]
	}
	return line + " " + info.GoVersion + " " + settings["GOOS"] + "/" + settings["GOARCH"]
}
