package web

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// Portal is what the operator's page shows of the relay.
type Portal struct {
	Network   string
	PublicKey phase0.BLSPubKey
	HeadSlot  phase0.Slot
	// NotReady is why the relay is not ready; empty if it is.
	NotReady                  string
	Validators, Registrations int
	// KillSwitch: no headers are served because the operator wants that.
	KillSwitch bool
	Builders   []relay.Builder
	// Demotions are the newest, the newest first.
	Demotions []relay.BuilderDemoted
	Stores    []Store
	Nodes     []Node
	// Settings is the effective configuration without secrets; empty if it is not known.
	Settings string
}

// Store is a part of the journal, or a database that is made from it. A number that is not known is
// -1.
type Store struct {
	Name string
	// Fault is why it does not work; empty if it does.
	Fault     string
	SizeBytes int64
	FreeBytes int64
	// Lag is how many facts it is behind the journal.
	Lag int64
	// Note is what else there is to say.
	Note string
}

// Node is a node that the relay asks.
type Node struct {
	Kind, Name string
	Works      bool
	// Note is what else is known, such as that it is behind.
	Note string
}

// BuilderRow is a builder on the operator's page, with what may be done about it.
type BuilderRow struct {
	Name  string
	Cells []Cell
	// Optimistic builders can be suspended. Promotable ones can be promoted: they have a collateral.
	Optimistic, Promotable bool
}

// Bounds of the operator's page. What is beyond them is counted; the admin API lists all.
const (
	portalBuilders  = 500
	portalDemotions = 100
)

// BuilderColumns are the columns of BuilderRows, without the last one, which has the forms.
var BuilderColumns = []string{"Builder", "Standing", "Collateral ETH", "Keys", "May", "Last demotion"}

// Page makes the operator's page, without its builders.
func (p *Portal) Page() Page {
	page := Page{Title: cmp.Or(p.Network, "custom") + " · operator", Fields: []Field{
		{"Status", text(cmp.Or(p.NotReady, "ready"))},
		{"Kill switch", text(map[bool]string{true: "ON: no headers are served", false: "off"}[p.KillSwitch])},
		{"Head slot", number(int64(p.HeadSlot))},
		{"Registrations", Cell{Text: fmt.Sprintf("%d of %d validators", p.Registrations, p.Validators)}},
		{"Public key", text(hex(p.PublicKey[:]))},
	}}
	if left := len(p.Builders) - portalBuilders; left > 0 {
		page.Notes = append(page.Notes, fmt.Sprintf("%d more builders are not shown; the admin API lists all.", left))
	}
	page.Tables = []Table{p.demotions(), p.stores(), p.nodes()}
	return page
}

// BuilderRows are the builders with their standing.
func (p *Portal) BuilderRows() []BuilderRow {
	last := map[string]relay.BuilderDemoted{}
	for _, d := range p.Demotions {
		if _, newer := last[d.Name]; !newer {
			last[d.Name] = d
		}
	}
	var rows []BuilderRow
	for _, b := range p.Builders[:min(len(p.Builders), portalBuilders)] {
		demoted := "–"
		if d, has := last[b.Name]; has {
			demoted = d.At.UTC().Format(time.DateTime) + ": " + d.Rule
		}
		rows = append(rows, BuilderRow{Name: b.Name, Optimistic: b.Optimistic,
			Promotable: !b.Optimistic && b.CollateralWei != nil && !b.CollateralWei.IsZero(),
			Cells: []Cell{text(b.Name), text(standing(b)), ether(b.CollateralWei), number(int64(len(b.Pubkeys))),
				text(allowed(b)), text(demoted)}})
	}
	return rows
}

// standing is how a builder's bids are treated.
func standing(b relay.Builder) string {
	switch {
	case b.Blocked:
		return "blocked: its submissions are refused"
	case b.Optimistic:
		return "optimistic: bids count at once"
	}
	return "bids count after execution"
}

// allowed is what else the operator grants a builder.
func allowed(b relay.Builder) string {
	text := ""
	for _, one := range []struct {
		granted bool
		words   string
	}{{b.HighPriority, "priority"}, {b.HeaderFirst, "headers first"}, {b.APIKeyHash != nil, "API key"}} {
		if one.granted && text != "" {
			text += ", "
		}
		if one.granted {
			text += one.words
		}
	}
	return cmp.Or(text, "–")
}

func (p *Portal) demotions() Table {
	table := Table{ID: "demotions", Title: "Demotions, the newest", Columns: []string{"Time", "Builder", "Slot", "Rule",
		"Detail", "Value ETH", "Delivered", "Evidence"}}
	for _, d := range p.Demotions[:min(len(p.Demotions), portalDemotions)] {
		evidence := Cell{Text: short(d.BlockHash[:]), Link: "/operator/evidence/" + hex(d.BlockHash[:])}
		table.Rows = append(table.Rows, []Cell{text(d.At.UTC().Format(time.DateTime)), text(d.Name),
			number(int64(d.Slot)), text(d.Rule), text(cut(d.Detail)), ether(d.ValueWei), text(yes(d.Delivered)), evidence})
	}
	if left := len(p.Demotions) - portalDemotions; left > 0 {
		table.Title += fmt.Sprintf(" %d of %d", portalDemotions, len(p.Demotions))
	}
	return table
}

// cut shortens what a node says about a block.
func cut(detail string) string {
	const most = 300
	if runes := []rune(detail); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return detail
}

func (p *Portal) stores() Table {
	table := Table{ID: "stores", Title: "Journal and stores",
		Columns: []string{"Store", "Works", "Size", "Free on its disk", "Facts behind", "Note"}}
	for _, s := range p.Stores {
		works := "yes"
		if s.Fault != "" {
			works = "NO: " + cut(s.Fault)
		}
		behind := "–"
		if s.Lag >= 0 {
			behind = strconv.FormatInt(s.Lag, 10)
		}
		table.Rows = append(table.Rows, []Cell{text(s.Name), text(works), text(size(s.SizeBytes)), text(size(s.FreeBytes)),
			text(behind), text(s.Note)})
	}
	return table
}

func (p *Portal) nodes() Table {
	table := Table{ID: "nodes", Title: "Beacon and validation nodes", Columns: []string{"Kind", "Node", "Works", "Note"}}
	for _, n := range p.Nodes {
		table.Rows = append(table.Rows, []Cell{text(n.Kind), text(n.Name),
			text(map[bool]string{true: "yes", false: "NO"}[n.Works]), text(n.Note)})
	}
	return table
}

// size writes a number of bytes in the unit that people read; what is not known is a dash.
func size(bytes int64) string {
	if bytes < 0 {
		return "–"
	}
	units := []string{"B", "kB", "MB", "GB", "TB"}
	value, unit := float64(bytes), 0
	for value >= 1000 && unit < len(units)-1 {
		value, unit = value/1000, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}
