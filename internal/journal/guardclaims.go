package journal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"slices"
)

// claims keeps the embedded guard's claims in a file of their own, a ring of records. The file is
// made with its full length, so that a full disk stops no claim and facts can't take its room.
//
//	| number 8 | key's length 2 | value's length 2 | key | value | zeros | CRC-32C of all before 4 |   256 bytes, never across two sectors
//
// A claim is written over the oldest record, and synced before the call returns. A record that was
// only partly written fails its checksum; its claim was not confirmed. The next claim overwrites a
// write that failed.
type claims struct {
	file file // nil in memory
	// turn holds a token while a claim is made. A write whose caller has left keeps the token until
	// the disk has answered.
	turn  chan struct{}
	known map[string][]byte // values by key, guarded by turn
	ring  []string          // the key of each record, guarded by turn
	next  uint64            // number of the next record, guarded by turn
	// synced, if set, records when the disk has last confirmed a claim.
	synced *synced
}

// file stores the claims: an os.File, or one in a test that forgets what was not synced. Sync
// returns when all earlier writes survive a power cut.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Sync() error
}

const (
	claimSize    = 256
	claimHeader  = 12
	claimPlaces  = 1 << 16
	claimsLength = claimSize * claimPlaces
	// mostClaim is how many bytes key and value may have together.
	mostClaim = claimSize - claimHeader - 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// newClaims returns a guard in memory, which is lost with the process.
func newClaims(places int) *claims {
	return &claims{turn: make(chan struct{}, 1), known: map[string][]byte{}, ring: make([]string, places)}
}

// readClaims reads the claims in a file with so many records, as each start does. Until the ring
// has gone round once, there are zeros where no claim was. So the file is read in pieces, and a
// record of zeros is passed over by one comparison.
func readClaims(f file, places int, log *slog.Logger) (*claims, error) {
	c := newClaims(places)
	c.file = f
	var records []claimRecord
	piece := make([]byte, readPlaces*claimSize)
	for place := range places {
		at := place % readPlaces
		if at == 0 {
			n, err := f.ReadAt(piece, int64(place)*claimSize)
			if err != nil && !errors.Is(err, io.EOF) {
				return nil, fmt.Errorf("read claims: %w", err)
			}
			clear(piece[n:])
		}
		raw := (*[claimSize]byte)(piece[at*claimSize:])
		if *raw == ([claimSize]byte{}) {
			continue
		}
		number, key, value, ok := decodeClaim(raw[:])
		if !ok || number%uint64(places) != uint64(place) {
			log.Warn("a claim was cut in its writing, and not answered", "place", place)
			continue
		}
		records = append(records, claimRecord{number, place, key, bytes.Clone(value)})
	}
	slices.SortFunc(records, func(a, b claimRecord) int { return cmp.Compare(a.number, b.number) })
	c.known = make(map[string][]byte, len(records))
	for _, r := range records { // the newest of a key counts: an earlier one was not confirmed
		c.known[r.key], c.ring[r.place], c.next = r.value, r.key, r.number+1
	}
	return c, nil
}

// readPlaces is how many records are read from a file at a time: 64 KiB.
const readPlaces = 256

// claimRecord is a claim that was read, and where.
type claimRecord struct {
	number uint64
	place  int
	key    string
	value  []byte
}

func encodeClaim(number uint64, key string, value []byte) ([]byte, error) {
	if key == "" || len(key)+len(value) > mostClaim {
		return nil, fmt.Errorf("key and value have %d bytes: want a key, and %d bytes at most",
			len(key)+len(value), mostClaim)
	}
	raw := make([]byte, claimSize)
	binary.BigEndian.PutUint64(raw, number)
	binary.BigEndian.PutUint16(raw[8:], uint16(len(key)))
	binary.BigEndian.PutUint16(raw[10:], uint16(len(value)))
	copy(raw[claimHeader:], key)
	copy(raw[claimHeader+len(key):], value)
	binary.BigEndian.PutUint32(raw[claimSize-4:], crc32.Checksum(raw[:claimSize-4], castagnoli))
	return raw, nil
}

// decodeClaim reads a record of claimSize bytes; ok is false for an empty or partly written one.
func decodeClaim(raw []byte) (number uint64, key string, value []byte, ok bool) {
	keyLength, valueLength := int(binary.BigEndian.Uint16(raw[8:])), int(binary.BigEndian.Uint16(raw[10:]))
	if keyLength == 0 || keyLength+valueLength > mostClaim ||
		binary.BigEndian.Uint32(raw[claimSize-4:]) != crc32.Checksum(raw[:claimSize-4], castagnoli) {
		return 0, "", nil, false
	}
	at := claimHeader + keyLength
	return binary.BigEndian.Uint64(raw), string(raw[claimHeader:at]), raw[at:][:valueLength], true
}

// claim implements guardStore. It returns when the context ends, even if the disk has not answered.
// Later callers then wait for the disk before they see that claim.
func (c *claims) claim(ctx context.Context, key string, value []byte, former []string) ([]byte, error) {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the disk: %w", ctx.Err())
	}
	for _, name := range append([]string{key}, former...) {
		if standing, taken := c.known[name]; taken {
			<-c.turn
			return standing, nil
		}
	}
	done := make(chan error, 1)
	go func() {
		err := c.write(key, value)
		<-c.turn
		done <- err
	}()
	select {
	case err := <-done:
		return value, err
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the disk: %w", ctx.Err())
	}
}

// write adds a claim, and syncs it before other callers can see it. The caller holds the turn.
func (c *claims) write(key string, value []byte) error {
	if err := c.put(key, value); err != nil {
		return err
	}
	if c.file != nil {
		if err := c.file.Sync(); err != nil {
			return fmt.Errorf("sync: %w", err)
		}
		if c.synced != nil {
			c.synced.note()
		}
	}
	c.remember(key, value)
	return nil
}

// put writes a claim over the oldest record.
func (c *claims) put(key string, value []byte) error {
	raw, err := encodeClaim(c.next, key, value)
	if err != nil || c.file == nil {
		return err
	}
	if _, err := c.file.WriteAt(raw, int64(c.next%uint64(len(c.ring)))*claimSize); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// remember records in memory that a claim has taken the place of the oldest one.
func (c *claims) remember(key string, value []byte) {
	place := c.next % uint64(len(c.ring))
	if old := c.ring[place]; old != key {
		delete(c.known, old)
	}
	c.known[key], c.ring[place] = bytes.Clone(value), key
	c.next++
}

// close implements guardStore. It waits for a claim that is being written.
func (c *claims) close() error {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}
