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
	// registrationSize is a SignedValidatorRegistrationV1 in SSZ; a list of them is their plain
	// concatenation.
	registrationSize = 180
	// registrationJSON is the shortest one in JSON: its names, its 0x texts and one digit for each
	// number.
	registrationJSON = 425
	// MaxRegistrations is how many entries a batch may have, good or bad.
	MaxRegistrations = 100_000
)

// ErrTooManyRegistrations is a batch of more than MaxRegistrations.
var ErrTooManyRegistrations = fmt.Errorf("more than %d registrations", MaxRegistrations)

// Registrations is a decoded batch. The entries hold no part of the body, and share their memory.
type Registrations struct {
	// Entries are those that could be decoded, in order.
	Entries []relay.SignedRegistration
	// Bad are the first of those that could not, at most relay.MaxListedFailures; BadCount is how many
	// there are in all.
	Bad      []EntryError
	BadCount int

	places []int32 // of the entries in the batch; nil while none is bad
}

// EntryError says why one registration of a batch could not be decoded.
type EntryError struct {
	Index int
	Err   error
}

// Place is where an entry stands in the batch.
func (r *Registrations) Place(entry int) int {
	if r.places == nil {
		return entry
	}
	return int(r.places[entry])
}

// DecodeRegistrations reads a batch (builder-specs, registerValidator). What it takes of memory is
// bounded by the length of the body: there is room for as many entries as the body can hold, and no
// more than a hundred errors are kept. The error is for a body that is no list, or of too many
// entries (ErrTooManyRegistrations); then no entry counts.
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

// latest is the second that stands for all that come after it: time.Time would take some of those
// for the distant past.
const latest = 1 << 55

// timeOf is a timestamp in seconds. No clock will show those that it cannot tell from another.
func timeOf(seconds uint64) time.Time {
	return time.Unix(int64(min(seconds, latest)), 0)
}

func registrationsJSON(body []byte) (*Registrations, error) {
	r := roomFor(min(len(body)/registrationJSON, MaxRegistrations) + 1) // one more for what turns out to be bad
	c := newCursor(body)
	if c.Peek() != '[' {
		return nil, fmt.Errorf("not a list of registrations: %w", c.wrong(objects))
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
	return r, c.end()
}

// read reads the entry of a place. One that is JSON, but no registration, is bad and does not keep
// the others from being read.
func (r *Registrations) read(c *cursor, place int) error {
	begin := *c
	entry := r.next()
	err := registrationShape.read(c, entry)
	if err == nil {
		if r.Entries = r.Entries[:len(r.Entries)+1]; r.places != nil {
			r.places = append(r.places, int32(place))
		}
		return nil
	}
	*c = begin
	if _, notJSON := c.Value(); notJSON != nil {
		return notJSON
	}
	if r.BadCount++; r.places == nil { // until now the entries stood at their own index
		r.places = make([]int32, len(r.Entries), cap(r.Entries))
		for i := range r.places {
			r.places[i] = int32(i)
		}
	}
	if len(r.Bad) < relay.MaxListedFailures {
		r.Bad = append(r.Bad, EntryError{Index: place, Err: err})
	}
	return nil
}

// roomFor has room for a number of entries, messages and all, in one piece.
func roomFor(count int) *Registrations {
	r := &Registrations{Entries: make([]relay.SignedRegistration, 0, count)}
	messages := make([]builderv1.ValidatorRegistration, count)
	for i := range messages {
		r.Entries[:count][i].Message = &messages[i]
	}
	return r
}

// next is where the next entry is read into. What a bad one leaves there is written over.
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
