package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/nats-io/nats.go/jetstream"
)

// quota is how many bytes each part of a journal may take. Sizes that the operator has set stay;
// the others are fitted to the disk.
type quota struct {
	facts, escrow, evidence int64
}

// The default sizes: on a disk that is large enough, and in memory.
var (
	quotaOnDisk   = quota{facts: 16 << 30, escrow: 16 << 30, evidence: 1 << 30}
	quotaInMemory = quota{facts: 1 << 30, escrow: 2 << 30, evidence: 64 << 20}
)

const (
	// leastDisk is how many bytes a journal needs on its disk to start.
	leastDisk = 128 << 20
	// leastQuota is the least that a part gets when it is fitted.
	leastQuota = 8 << 20
	// engineQuota is the limit that the engine is given. It is out of reach, because the journal
	// has its own bounds. The engine's default (three quarters of what is free at its start) would
	// stop writes although the disk has room.
	engineQuota = 1 << 50
)

// wished are the sizes that a Config sets; the others are the defaults of a large disk or of
// memory.
func (c *Config) wished(inMemory bool) quota {
	r := quotaOnDisk
	if inMemory {
		r = quotaInMemory
	}
	for _, part := range []struct {
		room *int64
		wish int64
	}{{&r.facts, c.FactsBytes}, {&r.escrow, c.EscrowBytes}, {&r.evidence, c.EvidenceBytes}} {
		if part.wish != 0 {
			*part.room = part.wish
		}
	}
	return r
}

// fit makes the sizes of an embedded journal's parts small enough for its disk. A tenth of the disk
// stays free for state, guard and the file system. Sizes that the operator has set must fit into
// the rest. What they leave bounds the other parts: half of it facts, two fifths escrow, a tenth
// evidence.
func (c *Config) fit(q quota, disk int64) (quota, error) {
	if disk < leastDisk {
		return q, fmt.Errorf("the journal's disk has room for %s, a journal needs %s at least: give it another folder "+
			"(--data-dir) or a larger disk",
			size(disk), size(leastDisk))
	}
	usable := disk - disk/10
	asked := max(c.FactsBytes, 0) + max(c.EvidenceBytes, 0)
	if !c.EscrowInMemory {
		asked += c.EscrowBytes
	}
	if asked > usable {
		return q, fmt.Errorf("the journal's disk has room for %s, and %s of that are asked for: lower --facts-megabytes "+
			"(%s), --escrow-megabytes (%s) or "+
			"--evidence-megabytes (%s), or give it a larger disk", size(disk), size(asked), size(c.FactsBytes),
			size(c.EscrowBytes), size(c.EvidenceBytes))
	}
	free := usable - asked
	share := func(room *int64, wish, part, parts int64) {
		if wish == 0 {
			*room = min(*room, max(free/parts*part, leastQuota))
		}
	}
	share(&q.facts, c.FactsBytes, 5, 10)
	if !c.EscrowInMemory {
		share(&q.escrow, c.EscrowBytes, 4, 10)
	}
	share(&q.evidence, c.EvidenceBytes, 1, 10)
	return q, nil
}

// diskFor is how many bytes a journal may take of its folder's disk: what is free, and what the
// folder takes already.
func diskFor(dir string) (int64, error) {
	free, err := freeBytes(dir)
	if err != nil {
		return 0, err
	}
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return ignoreGone(err)
		}
		info, err := entry.Info()
		if err != nil {
			return ignoreGone(err)
		}
		free += info.Size()
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("measure the journal's folder: %w", err)
	}
	return free, nil
}

// ignoreGone drops the error for a file that was removed meanwhile.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// freeBytes is how many bytes this process may still write to a folder's disk.
func freeBytes(dir string) (int64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return 0, fmt.Errorf("measure the disk of %s: %w", dir, os.NewSyscallError("statfs", err))
	}
	return int64(disk.Bavail) * int64(disk.Bsize), nil // the types differ between systems
}

// size formats a number of bytes for operators.
func size(bytes int64) string {
	switch {
	case bytes >= 10<<30:
		return fmt.Sprintf("%d GiB", bytes>>30)
	case bytes >= 1<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes < 0:
		return "unbounded"
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// exceedsQuota says whether a cluster refuses a stream because too much of its room is reserved for
// others.
func exceedsQuota(err error) bool {
	refused := (*jetstream.APIError)(nil)
	return errors.As(err, &refused) && (refused.ErrorCode == storageExceeded || refused.ErrorCode == memoryExceeded ||
		refused.ErrorCode == noPeers)
}

// Codes of an engine that has no room, or finds no servers that have it.
const (
	storageExceeded jetstream.ErrorCode = 10047
	memoryExceeded  jetstream.ErrorCode = 10028
	noPeers         jetstream.ErrorCode = 10005
)

// sizeText adds what an operator can do to the error of a full disk.
func sizeText(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the journal's disk is full: free room, or lower --facts-megabytes, --escrow-megabytes or "+
			"--evidence-megabytes: %w", err)
	}
	return err
}
