package dataset

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
)

// Registration is a validator's registration, as a relay shows it.
type Registration struct {
	Slot                     Int
	SlotStart                Time
	SignedAt, ObservedAt     Time
	Source, Relay            Text
	ValidatorIndex, GasLimit Int
	FeeRecipient             Address
}

// Registrations is the table of registrations. A replay does not read it.
var Registrations = &Table[Registration]{
	Name:  "registrations",
	Doc:   "Registrations of validators that relays show. Replays do not read them.",
	Seen:  func(r *Registration) *Time { return &r.ObservedAt },
	Relay: func(r *Registration) *Text { return &r.Relay },
	check: (*Registration).check,
	At:    func(_ Network, r *Registration) int64 { return r.SlotStart.Micros },
	Columns: []Column[Registration]{
		{"slot", "slot", "the slot that the archive names", func(r *Registration) any { return &r.Slot }},
		{"slot_start", "UTC", "when that slot begins", func(r *Registration) any { return &r.SlotStart }},
		{"signed_at", "UTC, validator's clock", "the registration's timestamp", func(r *Registration) any {
			return &r.SignedAt
		}},
		{"observed_at", "UTC, collector's clock", "when a collector first saw it",
			func(r *Registration) any { return &r.ObservedAt }},
		{"source", "", "the format that the row is from", func(r *Registration) any { return &r.Source }},
		{"relay", "", "the relay's name or host", func(r *Registration) any { return &r.Relay }},
		{"validator_index", "validator", "", func(r *Registration) any { return &r.ValidatorIndex }},
		{"gas_limit", "gas", "", func(r *Registration) any { return &r.GasLimit }},
		{"fee_recipient", "0x, 20 bytes", "", func(r *Registration) any { return &r.FeeRecipient }},
	},
}

var errNoValidator = errors.New("no validator_index")

// check completes a row and says why it cannot be one. A registration may be years older than the
// slot in which a collector saw it.
func (r *Registration) check(n Network) error {
	if err := checkSlot(r.Slot); err != nil {
		return err
	}
	if !r.ValidatorIndex.Known {
		return errNoValidator
	}
	r.SlotStart = Time{n.startMicros(r.Slot.V), true}
	return n.checkTime("observed_at", r.Slot.V, r.ObservedAt)
}

// xatuRegistrationColumns begin with those of every file of the table.
var xatuRegistrationColumns = []string{
	"slot", "relay_name", "timestamp", "validator_index", "gas_limit", "fee_recipient", "event_date_time",
	"meta_network_name",
}

var xatuRegistrations = Format{
	Name: "xatu", Place: Row,
	Doc:     "xatu's table `mev_relay_validator_registration`, in Parquet",
	columns: xatuRegistrationColumns, needed: 6,
	ReadParquet: func(in parquet.ReaderAtSeeker, from Origin, to Sink) error {
		return eachRow(in, xatuRegistrationColumns, noBytes, func(at int64, r *parquetRow) error {
			row, err := r.registration(from.Network)
			if err != nil {
				return to.Bad(at, r.String(), err)
			}
			return to.Row(at, row)
		})
	},
}

func (r *parquetRow) registration(n Network) (*Registration, error) {
	if name := r.column("meta_network_name").text(r.at); name != "" && name != n.Name {
		return nil, fmt.Errorf("the row is of the network %q", cut(name))
	}
	row := &Registration{Source: "xatu"}
	err := r.fill(namedCell{"slot", &row.Slot}, namedCell{"relay_name", &row.Relay}, namedCell{"timestamp", &row.SignedAt},
		namedCell{"validator_index", &row.ValidatorIndex}, namedCell{"gas_limit", &row.GasLimit},
		namedCell{"fee_recipient", &row.FeeRecipient}, namedCell{"event_date_time", &row.ObservedAt})
	if err != nil {
		return nil, err
	}
	return row, row.check(n)
}
