package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
)

// Main runs a program and returns its exit status.
func Main(root *cli.Command, args []string, stderr io.Writer) int {
	Prepare(root)
	ctx, stop := Context(context.Background())
	defer stop()
	return Exit(stderr, root.Name, root.Run(ctx, args))
}

// MistakeStatus is a key of a command's metadata: the exit status (int) for mistakes of callers of
// this command and of its subcommands. Without it the status is 2.
const MistakeStatus = "mistake status"

// mistake marks an error as the caller's.
func mistake(cmd *cli.Command, err error) error {
	for _, c := range cmd.Lineage() {
		if status, found := c.Metadata[MistakeStatus].(int); found {
			return UsageStatus(err, status)
		}
	}
	return Usage(err)
}

// OS runs a program with this process's arguments and ends the process.
func OS(root *cli.Command) {
	os.Exit(Main(root, os.Args, os.Stderr))
}

// Prepare makes every mistake of the caller an error of one line, in a command and its subcommands.
// A command without an action shows its help when it is called alone.
func Prepare(cmd *cli.Command) {
	cmd.HideHelpCommand = true
	cmd.ExitErrHandler = func(context.Context, *cli.Command, error) {} // Exit writes the error
	cmd.OnUsageError = func(_ context.Context, cmd *cli.Command, err error, _ bool) error {
		return mistake(cmd, fmt.Errorf("%w: see %s --help", rephrase(cmd, err), cmd.FullName()))
	}
	action := cmd.Action
	cmd.Action = func(ctx context.Context, cmd *cli.Command) error {
		// A command that takes arguments says so in its usage.
		if first := cmd.Args().First(); first != "" && cmd.ArgsUsage == "" {
			return mistake(cmd, unexpected(cmd, first))
		}
		if action == nil {
			return cli.ShowSubcommandHelp(cmd)
		}
		return action(ctx, cmd)
	}
	for _, sub := range cmd.Commands {
		Prepare(sub)
	}
}

func unexpected(cmd *cli.Command, argument string) error {
	if len(cmd.Commands) == 0 {
		return fmt.Errorf("%q is too much: %s takes flags only, see %s --help", argument, cmd.FullName(), cmd.FullName())
	}
	var names []string
	for _, sub := range cmd.Commands {
		if !sub.Hidden {
			names = append(names, sub.Name)
		}
	}
	return fmt.Errorf("%q is no command: give one of %s", argument, strings.Join(names, ", "))
}

// rephrase translates the library's messages about unknown flags and wrong values into ours.
func rephrase(cmd *cli.Command, err error) error {
	// Such a message is: invalid value "x" for flag -slots: strconv.ParseInt: parsing "x": invalid
	// syntax.
	if name, found := strings.CutPrefix(err.Error(), "flag provided but not defined: "); found {
		return fmt.Errorf("there is no flag --%s", strings.TrimLeft(name, "-"))
	}
	rest, found := strings.CutPrefix(err.Error(), "invalid value ")
	if !found {
		return err
	}
	quoted, unquoteErr := strconv.QuotedPrefix(rest)
	if unquoteErr != nil {
		return err
	}
	name, _, found := strings.Cut(strings.TrimPrefix(rest[len(quoted):], " for flag -"), ":")
	if !found {
		return err
	}
	return wrongValue(cmd, strings.TrimLeft(name, "-"), quoted)
}

// wrongValue says what kind of value a flag wants.
func wrongValue(cmd *cli.Command, name, quoted string) error {
	for _, flag := range cmd.Flags {
		if flag.Names()[0] == name {
			return fmt.Errorf("%s is %s: give %s", name, quoted, kind(flag))
		}
	}
	return fmt.Errorf("%s is %s, which cannot be read", name, quoted)
}

// kind describes the values of a flag.
func kind(flag cli.Flag) string {
	switch flag.(type) {
	case *cli.IntFlag, *cli.Int64Flag:
		return "a whole number"
	case *cli.UintFlag, *cli.Uint64Flag:
		return "a whole number, 0 or more"
	case *cli.FloatFlag:
		return "a number"
	case *cli.DurationFlag:
		return "a duration with its unit, such as 12s"
	case *cli.BoolFlag:
		return "true or false"
	default:
		return "a text"
	}
}

// Documented is a flag as the documents show it.
type Documented struct {
	Name, Default, Usage string
}

// Flags lists a command's flags as they are documented, in the order of their definition.
func Flags(cmd *cli.Command) []Documented {
	var rows []Documented
	for _, flag := range cmd.Flags {
		doc, ok := flag.(cli.DocGenerationFlag)
		if !ok || flag.Names()[0] == "help" {
			continue
		}
		rows = append(rows, Documented{flag.Names()[0], defaultText(flag, doc), doc.GetUsage()})
	}
	return rows
}

// defaultText is the documented value of a flag that is not given.
func defaultText(flag cli.Flag, doc cli.DocGenerationFlag) string {
	if d, ok := flag.(*cli.DurationFlag); ok {
		return shortDuration(d.Value)
	}
	if text := doc.GetDefaultText(); text != "" {
		return strings.Trim(text, `"`)
	}
	return doc.GetValue()
}

// shortDuration formats a duration as 1m instead of 1m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Markdown documents a command and its subcommands, each with a table of its flags.
func Markdown(cmd *cli.Command) string {
	var b strings.Builder
	markdown(&b, cmd, cmd.Name)
	return b.String()
}

func markdown(b *strings.Builder, cmd *cli.Command, path string) {
	fmt.Fprintf(b, "### `%s`\n\n%s.\n\n", path, strings.ToUpper(cmd.Usage[:1])+cmd.Usage[1:])
	if rows := Flags(cmd); len(rows) > 0 {
		b.WriteString("| flag | default | meaning |\n|---|---|---|\n")
		for _, row := range rows {
			fmt.Fprintf(b, "| `--%s` | %s | %s |\n", row.Name, code(row.Default), strings.ReplaceAll(row.Usage, "|", `\|`))
		}
		b.WriteString("\n")
	}
	for _, sub := range cmd.Commands {
		if !sub.Hidden { // hidden commands are for programs
			markdown(b, sub, path+" "+sub.Name)
		}
	}
}

// code formats a value as code; a default that is described in words stays as it is.
func code(text string) string {
	if text == "" || strings.Contains(text, " ") {
		return text
	}
	return "`" + text + "`"
}
