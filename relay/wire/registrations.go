package wire

import (
	"encoding/binary"
	"fmt"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"

	"github.com/gavel-relay/gavel/relay"
)

// Limits of a batch of registrations.
const (
	// registrationSize is the size of a SignedValidatorRegistrationV1 in SSZ; a list is their
	// concatenation.
	registrationSize = 180
	// registrationJSON is the size of the shortest one in JSON: its names, its 0x strings and one
	// digit for each number.
	registrationJSON = 425
	// MaxRegistrations is how many entries a batch may have, valid or not.
	MaxRegistrations = 100_000
)

// ErrTooManyRegistrations means that a batch has more than MaxRegistrations.
var ErrTooManyRegistrations = fmt.Errorf("more than %d registrations", MaxRegistrations)

// Registrations is a decoded batch. The entries keep no part of the body in memory. They are
// allocated together.
type Registrations struct {
	// Entries are those that could be decoded, in order.
	Entries []relay.SignedRegistration
	// Bad are the first entries that could not be decoded, at most relay.MaxListedFailures. BadCount
	// is how many there are in all.
	Bad      []EntryError
	BadCount int

	bodyIndices []int32 // of the entries in the batch; nil while no entry is bad
}

// EntryError says why one registration of a batch could not be decoded.
type EntryError struct {
	Index int
	Err   error
}

// BodyIndex returns the index in the batch of an entry of Entries.
func (r *Registrations) BodyIndex(entry int) int {
	if r.bodyIndices == nil {
		return entry
	}
	return int(r.bodyIndices[entry])
}

// DecodeRegistrations reads a batch (builder-specs, registerValidator). Its memory is bounded by
// the length of the body: it allocates as many entries as the body can hold, and keeps at most a
// hundred errors. The error means that the body is not a list, or has too many entries
// (ErrTooManyRegistrations); then no entry counts.
func DecodeRegistrations(media Media, body []byte) (*Registrations, error) {
	if media == SSZ {
		return registrationsSSZ(body)
	}
	return registrationsJSON(body)
}

func registrationsSSZ(body []byte) (*Registrations, error) {
	if len(body)%registrationSize != 0 {
		return nil, fmt.Errorf("%d bytes are no multiple of %d", len(body), registrationSize)
	}
	count := len(body) / registrationSize
	if count > MaxRegistrations {
		return nil, ErrTooManyRegistrations
	}
	r := roomFor(count)
	for ; len(body) > 0; body = body[registrationSize:] {
		entry := r.next()
		readRegistration(body[:registrationSize], entry)
		r.Entries = r.Entries[:len(r.Entries)+1]
	}
	return r, nil
}

// readRegistration reads fee recipient (20 bytes), gas limit, timestamp, public key (48) and
// signature (96).
func readRegistration(raw []byte, into *relay.SignedRegistration) {
	message := into.Message
	copy(message.FeeRecipient[:], raw)
	message.GasLimit = binary.LittleEndian.Uint64(raw[20:])
	message.Timestamp = timeOf(binary.LittleEndian.Uint64(raw[28:]))
	copy(message.Pubkey[:], raw[36:])
	copy(into.Signature[:], raw[84:])
}

// latest is the second that replaces all later ones, because time.Time overflows for some of them.
const latest = 1 << 55

// timeOf returns the time of a timestamp in seconds. Seconds after latest become latest, which is
// far beyond any real time.
func timeOf(seconds uint64) time.Time {
	return time.Unix(int64(min(seconds, latest)), 0)
}

func registrationsJSON(body []byte) (*Registrations, error) {
	r := roomFor(min(len(body)/registrationJSON, MaxRegistrations) + 1) // one more, to read a bad entry into
	c := newCursor(body)
	if c.Peek() != '[' {
		return nil, fmt.Errorf("not a list of registrations: %w", c.failKind(objects))
	}
	count := 0
	err := c.Items(func() error {
		if count == MaxRegistrations {
			return ErrTooManyRegistrations
		}
		count++
		return r.read(&c, count-1)
	})
	if err != nil {
		return nil, err
	}
	return r, c.End()
}

// read reads the entry with this index. An entry that is JSON but not a registration is bad; the
// others are read all the same.
func (r *Registrations) read(c *cursor, index int) error {
	begin := *c
	entry := r.next()
	err := registrationShape.read(c, entry)
	if err == nil {
		if r.Entries = r.Entries[:len(r.Entries)+1]; r.bodyIndices != nil {
			r.bodyIndices = append(r.bodyIndices, int32(index))
		}
		return nil
	}
	*c = begin
	if _, notJSON := c.Value(); notJSON != nil {
		return notJSON
	}
	if r.BadCount++; r.bodyIndices == nil { // until now both indices were equal
		r.bodyIndices = make([]int32, len(r.Entries), cap(r.Entries))
		for i := range r.bodyIndices {
			r.bodyIndices[i] = int32(i)
		}
	}
	if len(r.Bad) < relay.MaxListedFailures {
		r.Bad = append(r.Bad, EntryError{Index: index, Err: err})
	}
	return nil
}

// roomFor allocates a number of entries and their messages together.
func roomFor(count int) *Registrations {
	r := &Registrations{Entries: make([]relay.SignedRegistration, 0, count)}
	messages := make([]builderv1.ValidatorRegistration, count)
	for i := range messages {
		r.Entries[:count][i].Message = &messages[i]
	}
	return r
}

// next returns the entry to read into. What a bad entry has left there is overwritten.
func (r *Registrations) next() *relay.SignedRegistration {
	return &r.Entries[:len(r.Entries)+1][len(r.Entries)]
}

var registrationShape = shape[relay.SignedRegistration]{
	within("message", registrationMessageShape, func(s *relay.SignedRegistration) *builderv1.ValidatorRegistration {
		return s.Message
	}),
	fixed("signature", func(s *relay.SignedRegistration) []byte { return s.Signature[:] }),
}

var registrationMessageShape = shape[builderv1.ValidatorRegistration]{
	fixed("fee_recipient", func(m *builderv1.ValidatorRegistration) []byte { return m.FeeRecipient[:] }),
	number("gas_limit", func(m *builderv1.ValidatorRegistration) *uint64 { return &m.GasLimit }),
	{"timestamp", func(c *cursor, m *builderv1.ValidatorRegistration) error {
		seconds, err := c.uint64()
		m.Timestamp = timeOf(seconds)
		return err
	}},
	fixed("pubkey", func(m *builderv1.ValidatorRegistration) []byte { return m.Pubkey[:] }),
}
