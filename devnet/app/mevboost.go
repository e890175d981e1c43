package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/relay/client"
)

// startSidecar starts a real mev-boost between proposers and relay, if one is configured, and waits
// until it answers. It ends with the run.
func (l *lab) startSidecar(ctx context.Context, group *errgroup.Group) error {
	if l.cfg.MevBoost == "" {
		return nil
	}
	address, err := network.FreeAddress()
	if err != nil {
		return err
	}
	spec := l.network.Spec
	command := exec.CommandContext(ctx, l.cfg.MevBoost, "--addr", address,
		"--genesis-fork-version", fmt.Sprintf("%#x", spec.GenesisForkVersion[:]), "--genesis-timestamp",
		strconv.FormatUint(spec.Timestamp(0), 10),
		"--relays", strings.Join(append([]string{l.relayAddress()}, l.cfg.Relays...), ","))
	command.Env = append(os.Environ(), "SLOT_SEC="+strconv.Itoa(int(spec.SlotDuration.Seconds())))
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = time.Second
	if l.cfg.Verbose {
		command.Stderr = os.Stderr
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start mev-boost: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	group.Go(func() error {
		err := <-ended
		ended <- err
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("mev-boost ended: %w", errors.Join(err, errors.New("run it by hand to see why")))
	})
	if l.sidecar, err = client.New("http://"+address, client.Options{}); err != nil {
		return err
	}
	return l.untilAnswers(ctx)
}

// untilAnswers waits until the sidecar's status is good.
func (l *lab) untilAnswers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := l.sidecar.Status(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("mev-boost does not answer: %w", err)
		case <-ticker.C:
		}
	}
}
