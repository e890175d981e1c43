package scenarios

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// WhatIf is one variant of other rules under which recorded auctions are held again.
type WhatIf struct {
	// Name is the choice of the parameters that vary, or the file's name if none do.
	Name string
	Why  string
	// Cancellations is as archived (empty), off, on or freshest; Sequence as archived (empty), off or
	// sent; Execution as archived (empty), optimistic or verified.
	Cancellations, Sequence, Execution string
	NoFloor                            bool
	// Close is when the auction closes; nil if it does not. Asks are when the proposer asks; none: as
	// in the replay.
	Close *time.Duration
	Asks  []time.Duration
	// PicosPerGas is what executing a unit of gas takes, in picoseconds.
	PicosPerGas int64
	Latency     []Delay
	// ShadeBasisPoints is by how many hundredths of a percent each bid is lower.
	ShadeBasisPoints uint64
	// SecondPrice: the proposer is paid what the best other builder bids.
	SecondPrice bool
}

// Delay is by how much later bids come to a relay. No Builders: those of all; no Relay: to all.
type Delay struct {
	Builders []string // beginnings of public keys
	Relay    string
	Add      time.Duration
}

// keysOfWhatIf are the keys of a what-if.
var keysOfWhatIf = []string{
	"why", "cancellations", "floor", "close", "ask", "latency", "regions", "execution", "sequence", "shading", "price",
	"vary",
}

// WhatIfKeys say what each key changes. Model says that the outcome is a model's: what builders
// would have bid under such rules is not in any archive.
var WhatIfKeys = []struct {
	Key, Form, Doc string
	Model          bool
}{
	{"cancellations", "`off`, `on`, `freshest`", "off: each bid is final. on: of each builder the bid that entered last " +
		"counts. freshest: the one that the relay received last, in whatever order they entered", false},
	{"floor", "`on`, `off`", "off: bids at or below the best final one are executed, too (decision 5)", false},
	{"close", "TIME", "bids that enter later are refused", false},
	{"ask", "TIME or a list of TIME",
		"when the proposer asks; a list gives a row for each, which is a curve. Without it " +
			"the proposer asks when it did in the replay", false},
	{"latency", "list of `builder KEY +TIME`, `relay NAME +TIME`, `region NAME +TIME`, `… to relay NAME +TIME`",
		"bids come later, or with a minus sooner; all entries that match add up. KEY is the beginning of a public key", true},
	{"regions", "`NAME: [KEY, …]`", "which builders are where, for latency", false},
	{"execution", "`optimistic`, `verified TIME per Mgas`",
		"optimistic: bids count when they are received. verified: when " +
			"their block was executed, each at once, and without a queue", true},
	{"sequence", "`off`, `sent`",
		"off: numbers are ignored. sent: each builder numbers its bids in the order in which the " +
			"relay received them", true},
	{"shading", "PERCENT", "each bid is lower by so much", true},
	{"price", "`first`, `second`",
		"second: the proposer is paid what the best other builder bids, and nothing if there is " +
			"none", true},
	{"vary", "`name: [value, …]`", "one variant for each value; `$name` stands for it", false},
}

// WhatIfMarkdown is the table of keys of docs/replay.md.
func WhatIfMarkdown() string {
	var out strings.Builder
	out.WriteString("| key | value | | |\n|---|---|---|---|\n")
	for _, k := range WhatIfKeys {
		model := ""
		if k.Model {
			model = "model"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", k.Key, k.Form, k.Doc, model)
	}
	return out.String()
}

// ParseWhatIf reads a what-if and returns its variants, one if nothing varies. Errors are as of
// Parse.
func ParseWhatIf(file string, text []byte) ([]WhatIf, error) {
	file = filepath.Base(file)
	tree, err := readYAML(file, text)
	if err != nil {
		return nil, err
	}
	first, choices, err := readWhatIf(file, tree, nil)
	if err != nil {
		return nil, err
	}
	if len(choices) == 0 {
		return []WhatIf{first}, nil
	}
	var all []WhatIf
	for _, choice := range choices {
		one, _, err := readWhatIf(file, tree, choice)
		if err != nil {
			return nil, fmt.Errorf("variant %s: %w", choice, err)
		}
		one.Name = choice.String()
		all = append(all, one)
	}
	return all, nil
}
