package dataset

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var mainnet = Networks[0]

// collected is a sink that keeps everything.
type collected struct {
	bids       []*Bid
	deliveries []*Delivery
	bad        []string
	notes      []string

	registrations []*Registration
	requests      []*Request
	slots         []*Slot
	stages        []*Stage
	orders        []*Order
	places        []int64 // of all rows but bad ones
}

func (c *collected) Note(text string) error {
	c.notes = append(c.notes, text)
	return nil
}

func (c *collected) Row(at int64, row any) error {
	c.places = append(c.places, at)
	switch row := row.(type) {
	case *Bid:
		c.bids = append(c.bids, row)
	case *Delivery:
		c.deliveries = append(c.deliveries, row)
	case *Registration:
		c.registrations = append(c.registrations, row)
	case *Request:
		c.requests = append(c.requests, row)
	case *Slot:
		c.slots = append(c.slots, row)
	case *Stage:
		c.stages = append(c.stages, row)
	case *Order:
		c.orders = append(c.orders, row)
	default:
		return fmt.Errorf("a %T is a row of no table", row)
	}
	return nil
}

func (c *collected) Bad(at int64, _ string, why error) error {
	c.bad = append(c.bad, fmt.Sprintf("%d: %v", at, why))
	return nil
}

// read recognises content and reads it.
func read(t testing.TB, content string) (format string, rows collected, err error) {
	t.Helper()
	f, err := Recognise([]byte(content[:min(len(content), HeadBytes)]))
	if err != nil {
		return "", rows, err
	}
	err = f.Read(strings.NewReader(content), Origin{Network: mainnet, Relay: "given"}, &rows)
	return f.Name, rows, err
}

func testdata(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// table writes rows as lines of name=cell, without nulls, for goldens.
func table[R any](t testing.TB, of *Table[R], rows []*R) string {
	t.Helper()
	var out bytes.Buffer
	for _, row := range rows {
		for _, c := range of.Columns {
			if text := show(c.Cell(row)); text != "" {
				fmt.Fprintf(&out, "%s=%s ", c.Name, text)
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func show(cell any) string {
	switch v := cell.(type) {
	case *Int:
		if v.Known {
			return fmt.Sprint(v.V)
		}
	case *Time:
		if v.Known {
			return fmt.Sprint(v.Micros)
		}
	case *Bool:
		if v.Known {
			return fmt.Sprint(v.V)
		}
	case *Wei:
		return v.String()
	case *Hash:
		if v.Known {
			return fmt.Sprintf("%#x", v.V)
		}
	case *Key:
		if v.Known {
			return fmt.Sprintf("%#x", v.V)
		}
	case *Address:
		if v.Known {
			return fmt.Sprintf("%#x", v.V)
		}
	case *Text:
		return string(*v)
	case *Blob:
		return fmt.Sprintf("%x", string(*v))
	}
	return ""
}
