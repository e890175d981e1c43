package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/run"
)

// toolEnv is the prefix of the environment variables that stand for the flags of gavel journal.
const toolEnv = "GAVEL_JOURNAL_"

// journalCommand is the command for an operator who looks after journals.
func journalCommand() *cli.Command {
	f := flags(toolEnv)
	where := append([]cli.Flag{
		f.described("folder", "none", "folder of an embedded journal, such as gavel-relay-data/journal; its service must be "+
			"stopped"),
		f.described("journal", "none", "URL of the cluster that has the journal; its services may run"),
		f.span("start-timeout", 10*time.Second, "how long to wait for the cluster"),
	}, f.accessFlags()...)
	sizes := []cli.Flag{
		f.described("journal-replicas", "3 if the cluster has three servers",
			"replicas of each stream in the cluster, 1 to 5"),
		f.described("facts-megabytes", "as it is", "how much of the facts is kept; 0 is no bound"),
		f.described("evidence-megabytes", "as it is", "how much of the evidence is kept"),
		f.described("escrow-megabytes", "as it is; 16384 for a new one", "how much the escrow keeps"),
	}
	dir := f.described("dir", "needed", "folder of the backup")
	return &cli.Command{
		Name:  "journal",
		Usage: "look after journals: show, check, back up, restore, move and change them",
		Commands: []*cli.Command{
			{Name: "show", Usage: "say whose the journal is, how much it has, and which servers have it", Flags: where,
				Action: journalAction(showJournal)},
			{Name: "facts", Usage: "write the facts of the journal to standard output, a line of JSON for each of its " +
				"messages; gavel-lab replay import reads them", Flags: append(slices.Clone(where), f.number("after", 0,
				"leave out messages up to this number, which were written before")), Action: journalAction(writeFacts)},
			{Name: "check", Usage: "read all of the journal and compare it with its checksums", Flags: where,
				Action: journalAction(checkJournal)},
			{Name: "backup", Usage: "copy the journal into a new folder", Flags: append(slices.Clone(where), dir),
				Action: journalAction(backUpJournal)},
			{Name: "restore", Usage: "make a journal of a backup, where there is none",
				Flags: append(slices.Concat(where, sizes), dir, f.toggle("original-is-gone",
					"needed: say that the journal that the backup was made of will never be used again, since both would let "+
						"a block of the same slot pass")), Action: journalAction(restoreJournal)},
			{Name: "move", Usage: "move an embedded journal (--folder) into a cluster that has none (--journal)",
				Flags: slices.Concat(where, sizes), Action: journalAction(moveJournal)},
			{Name: "change", Usage: "change replicas and bounds of a cluster's streams, for all who use them",
				Flags: append(slices.Concat(where, sizes), f.described("facts-for", "as it is",
					"how long facts are kept; 0 is for ever")), Action: journalAction(changeJournal)},
		},
	}
}

// journalAction reads the flags and does the work. What the journal logs goes to standard error.
func journalAction(do func(context.Context, *cli.Command, journal.Config, io.Writer) error) cli.ActionFunc {
	return func(ctx context.Context, cmd *cli.Command) error {
		cfg := journal.Config{Dir: cmd.String("folder"), StartTimeout: cmd.Duration("start-timeout"),
			Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
		if err := readJournal(cmd, &cfg); err != nil {
			return run.Usage(err)
		}
		if (cfg.Dir == "") == (cfg.URL == "") && cmd.Name != "move" {
			return run.Usage(errors.New("give --folder or --journal: where the journal is"))
		}
		table := tabwriter.NewWriter(cmd.Root().Writer, 0, 0, 2, ' ', 0)
		return errors.Join(do(ctx, cmd, cfg, table), table.Flush())
	}
}

func showJournal(ctx context.Context, _ *cli.Command, cfg journal.Config, out io.Writer) error {
	found, err := journal.Show(ctx, cfg)
	if err != nil {
		return err
	}
	var network []string
	for _, name := range slices.Sorted(maps.Keys(found.Network)) {
		network = append(network, name+" "+found.Network[name])
	}
	if network == nil {
		network = []string{"not known yet"}
	}
	fmt.Fprintf(out, "journal\t%s\nnetwork\t%s\n\n", found.Journal, strings.Join(network, ", "))
	fmt.Fprintln(out, "stream\tmessages\tbytes\tfirst\tlast\tkept for\tkept bytes\treplicas\tleader\tbehind")
	for _, s := range found.Streams {
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%s\t%s\t%d\t%s\t%s\n", s.Name, s.Messages, s.Bytes, s.First, s.Last,
			orForEver(s.MaxAge.String(), s.MaxAge == 0), orForEver(fmt.Sprint(s.MaxBytes), s.MaxBytes == 0), s.Replicas,
			orForEver(s.Leader, s.Leader == ""), orForEver(strings.Join(s.Behind, " "), len(s.Behind) == 0))
	}
	return nil
}

// orForEver is a dash for what has no bound, or is not there.
func orForEver(text string, none bool) string {
	if none {
		return "-"
	}
	return text
}

// writeFacts writes no table: lines go out as they come.
func writeFacts(ctx context.Context, cmd *cli.Command, cfg journal.Config, _ io.Writer) error {
	if cmd.Int("after") < 0 {
		return run.Usage(fmt.Errorf("after is %d: give the number of a message", cmd.Int("after")))
	}
	out := bufio.NewWriter(cmd.Root().Writer)
	return errors.Join(journal.WriteFacts(ctx, cfg, uint64(cmd.Int("after")), out), out.Flush())
}

func checkJournal(ctx context.Context, _ *cli.Command, cfg journal.Config, out io.Writer) error {
	list, err := journal.Check(ctx, cfg)
	damaged := 0
	fmt.Fprintln(out, "part\titems\tstate")
	for _, found := range list {
		state := "whole"
		if found.Trouble != "" {
			state = "DAMAGED: " + found.Trouble
			damaged++
		}
		fmt.Fprintf(out, "%s\t%d\t%s\n", found.Part, found.Items, state)
	}
	if err == nil && damaged > 0 {
		err = fmt.Errorf("%d of %d parts of the journal are damaged: restore a backup, or ask the cluster's other replicas",
			damaged, len(list))
	}
	return err
}

func backUpJournal(ctx context.Context, cmd *cli.Command, cfg journal.Config, out io.Writer) error {
	if cmd.String("dir") == "" {
		return run.Usage(errors.New("dir is empty: give the folder to make"))
	}
	b, err := journal.TakeBackup(ctx, cfg, cmd.String("dir"))
	return errors.Join(err, writeParts(out, b))
}

func restoreJournal(ctx context.Context, cmd *cli.Command, cfg journal.Config, out io.Writer) error {
	switch {
	case cmd.String("dir") == "":
		return run.Usage(errors.New("dir is empty: give the folder of the backup"))
	case !cmd.Bool("original-is-gone"):
		return run.Usage(errors.New("a restored journal and the one that it was made of would each let a block of one slot " +
			"pass: say --original-is-gone when that one will never be used again"))
	}
	b, err := journal.RestoreBackup(ctx, cfg, cmd.String("dir"))
	return errors.Join(err, writeParts(out, b))
}

func moveJournal(ctx context.Context, _ *cli.Command, cfg journal.Config, out io.Writer) error {
	if cfg.Dir == "" || cfg.URL == "" {
		return run.Usage(errors.New("move needs --folder, where the journal is, and --journal, where it goes"))
	}
	from := journal.Config{Dir: cfg.Dir, Log: cfg.Log}
	cfg.Dir = ""
	b, err := journal.Move(ctx, from, cfg)
	return errors.Join(err, writeParts(out, b))
}

// changeJournal opens the journal as a service does, with leave to change its streams.
func changeJournal(ctx context.Context, cmd *cli.Command, cfg journal.Config, out io.Writer) error {
	if cfg.URL == "" {
		return run.Usage(errors.New("change is for a cluster: an embedded journal takes the flags of its service"))
	}
	if _, err := journal.Show(ctx, cfg); err != nil { // Open would make a journal
		return err
	}
	cfg.ChangeStreams = true
	j, err := journal.Open(ctx, cfg)
	if err != nil {
		return err
	}
	if err := j.Close(ctx); err != nil {
		return err
	}
	return showJournal(ctx, cmd, cfg, out)
}

func writeParts(out io.Writer, b *journal.Backup) error {
	if b == nil {
		return nil
	}
	_, err := fmt.Fprintf(out, "journal\t%s\n\npart\titems\n", b.Journal)
	for _, part := range b.Parts {
		if err == nil {
			_, err = fmt.Fprintf(out, "%s\t%d\n", part.Name, part.Items)
		}
	}
	return err
}
