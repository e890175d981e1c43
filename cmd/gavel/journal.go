package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/internal/journal"
)

// journalFlags are the flags of a service that writes a journal. View names the projection that
// reads the facts: archive, ledger or history.
func (f flags) journalFlags(view string) []cli.Flag {
	return append(f.accessFlags(), []cli.Flag{
		f.described("journal-replicas", "as the streams are; 3 for new ones if the cluster has three servers",
			"replicas of each stream in the cluster, 1 to 5"),
		f.toggle("journal-change-streams",
			"change streams of the cluster that are not as these flags say, for all who use them; without it the start is "+
				"refused"),
		f.moved(),
		f.described("facts-for", "720h", "how long facts stay in the journal; 0 is for ever. The "+view+
			" must have read them by then; state is kept apart, for good"),
		f.described("facts-megabytes", "16384, or half of a small disk",
			"how much of them; the oldest go first. 0 is no bound"),
	}...)
}

// accessFlags are the flags for a cluster that knows its users, or uses TLS.
func (f flags) accessFlags() []cli.Flag {
	return []cli.Flag{
		f.described("journal-credentials", "none", "credentials file (JWT and seed) for the journal's cluster"),
		f.described("journal-ca", "those of the system",
			"PEM file of the authorities that have signed the certificates of the cluster's servers; it also makes TLS needed"),
		f.described("journal-cert", "none", "PEM file with the certificate by which the cluster knows this process"),
		f.described("journal-key", "none", "PEM file with that certificate's key"),
	}
}

// readAccess reads the flags of accessFlags.
func readAccess(cmd *cli.Command, cfg *journal.Config) error {
	cfg.Access = journal.Access{Credentials: cmd.String("journal-credentials"), CA: cmd.String("journal-ca"),
		Certificate: cmd.String("journal-cert"), Key: cmd.String("journal-key")}
	for _, file := range []struct{ flag, path string }{
		{"journal-credentials", cfg.Access.Credentials}, {"journal-ca", cfg.Access.CA},
		{"journal-cert", cfg.Access.Certificate}, {"journal-key", cfg.Access.Key},
	} {
		if file.path == "" {
			continue
		}
		if cfg.URL == "" {
			return fmt.Errorf("%s is for a cluster: give its URL with journal, or leave it out", file.flag)
		}
		if _, err := os.ReadFile(file.path); err != nil {
			return fmt.Errorf("%s: %w", file.flag, err)
		}
	}
	if (cfg.Access.Certificate == "") != (cfg.Access.Key == "") {
		return errors.New("journal-cert and journal-key belong together: give both, or none")
	}
	return nil
}

// moved makes the flag that allows a service to open a journal's folder that was copied, restored,
// or moved from another disk.
func (f flags) moved() cli.Flag {
	return f.described("journal-moved", "none",
		"take over the journal's folder although it is a copy, was restored, or came from another disk: the word that the "+
			"refusal of that "+
			"folder names. The one that it was made of must never run again")
}

// readMoved reads the flag journal-moved, which only a journal in this process has.
func readMoved(cmd *cli.Command, cfg *journal.Config) error {
	if cfg.Moved = cmd.String("journal-moved"); cfg.Moved != "" && cfg.URL != "" {
		return errors.New("journal-moved is for the folder of a journal in this process: leave it out with journal")
	}
	return nil
}

// escrowFlags are the flags of a service that keeps payloads.
func (f flags) escrowFlags() []cli.Flag {
	return []cli.Flag{
		f.described("escrow-megabytes", "16384, less on a small disk; 2048 in memory",
			"how much the escrow keeps, the newest; a slot or two are needed"),
		f.described("evidence-megabytes", "1024, less on a small disk",
			"how much is kept of blocks that builders were demoted for, the newest"),
	}
}

// readJournal reads the flags of journalFlags and escrowFlags. In journal.Config zero means the
// default, and a negative number means no bound.
func readJournal(cmd *cli.Command, cfg *journal.Config) error {
	cfg.URL, cfg.ChangeStreams = cmd.String("journal"), cmd.Bool("journal-change-streams")
	if err := readAccess(cmd, cfg); err != nil {
		return err
	}
	if text := cmd.String("journal-replicas"); text != "" {
		replicas, err := strconv.Atoi(text)
		if err != nil || replicas < 1 || replicas > 5 {
			return fmt.Errorf("journal-replicas is %s: give 1 to 5", text)
		}
		if replicas > 1 && cfg.URL == "" {
			return errors.New("journal-replicas is for a cluster: give its URL with journal, or leave it out")
		}
		cfg.Replicas = replicas
	}
	if cfg.ChangeStreams && cfg.URL == "" {
		return errors.New("journal-change-streams is for a cluster: give its URL with journal, or leave it out")
	}
	if err := readMoved(cmd, cfg); err != nil {
		return err
	}
	if text := cmd.String("facts-for"); text != "" {
		span, err := time.ParseDuration(text)
		if err != nil || span < 0 || span > 0 && span < leastFactsFor {
			return fmt.Errorf("facts-for is %s: give a duration with its unit of %s or more, such as 720h, or 0 for ever", text,
				leastFactsFor)
		}
		cfg.FactsFor = always(span)
	}
	for _, room := range []struct {
		flag  string
		field *int64
		zero  bool // 0 is allowed and means no bound
	}{{"facts-megabytes", &cfg.FactsBytes, true}, {"escrow-megabytes", &cfg.EscrowBytes, false}, {"evidence-megabytes",
		&cfg.EvidenceBytes, false}} {
		text := cmd.String(room.flag)
		if text == "" {
			continue
		}
		megabytes, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err == nil && megabytes == 0 && room.zero:
			*room.field = -1
		case err != nil || megabytes < leastMegabytes || megabytes > 1<<30:
			return fmt.Errorf("%s is %s: give a number of megabytes, %d or more", room.flag, text, leastMegabytes)
		default:
			*room.field = megabytes << 20
		}
	}
	return nil
}

const (
	// leastFactsFor is the shortest time that facts are kept: projections must be able to read
	// them.
	leastFactsFor = time.Second
	// leastMegabytes is the smallest bound of a part of the journal: a block or two.
	leastMegabytes = 8
)
