package generate

import (
	"fmt"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// real says what is no model.
var real = []string{
	"Blocks, gas, transactions, state and balances: each block was built and executed by go-ethereum, whose " +
		"chain took the landed ones.",
	"Amounts, exact to the wei: `value_wei` is what the builder signed, `worth_wei` what its fee recipient " +
		"gained in the block before it paid, `paid_wei` of `deliveries` what an execution found, and of `slots` " +
		"by how much the proposer's balance rose.",
	"Who leads, what is refused, and why: relays judge by their own rules (relay/check), executions and auction " +
		"(relay/auction), and deliver by their own code (relay/deliver). `refusal` has the names of " +
		"docs/relay.md.",
	"Orders: the bundle RPC's own lifecycle accepts, simulates, matches, sends and ends them, and counts refunds " +
		"from the blocks in which they landed.",
	"Hints: the stream's own code makes them, and searchers see nothing else of others' orders.",
	"Decisions of users, searchers and builders: the strategies of the devnet's agents.",
}

// leftOut is what services do and the generator does not.
var leftOut = []string{
	"HTTP, journals, databases, rate limits and overload: no request is refused for such a reason.",
	"Header-first and dehydrated submissions, several instances of a relay, gloas.",
	"Equivocation and wrong blocks of proposers: a payload is refused only for coming too late.",
	"Reputation at the bundle RPC: no signer has one.",
}

// Explained says what is real in a generated data set, what is a model, and what is left out.
func Explained() string {
	var out strings.Builder
	fmt.Fprintf(&out, "What is real:\n\n- %s\n\n", strings.Join(real, "\n- "))
	out.WriteString("A model are all times, and with them all that depends on who was first: `*_at`, `took_us`, " +
		"and which slots are missed or local.\n\n| model | |\n|---|---|\n")
	for _, m := range Models {
		fmt.Fprintf(&out, "| %s | %s |\n", m.Name, m.Doc)
	}
	fmt.Fprintf(&out, "\nWhat is left out:\n\n- %s\n", strings.Join(leftOut, "\n- "))
	return out.String()
}

// Dictionary describes a generated data set: README.md in its folder.
func Dictionary(cfg Config, tally *Tally) string {
	network := NetworkOf(cfg.Seed)
	var out strings.Builder
	fmt.Fprintf(&out, "# A generated data set of block auctions\n"+
		"Seed %d, %d slots, version %d of the generator, version %d of the schema. "+
		"`gavel-lab replay generate --seed %d --slots %d` of the same version makes the same bytes again; "+
		"`sha256sum -c SHA256SUMS` compares them.\n\n", cfg.Seed, cfg.Slots, Version, dataset.Version, cfg.Seed, cfg.Slots)
	fmt.Fprintf(&out, "The network is `%s`: slot 0 began at %s, a slot takes %d s, and the fork is fulu. "+
		"Tables are in `TABLE/day=YYYY-MM-DD/HH.parquet`, sorted by their columns. "+
		"`source` is `%s` in all rows. Amounts are in wei, times in UTC to the microsecond.\n\n",
		network.Name, time.Unix(network.GenesisTime, 0).UTC().Format(time.RFC3339), network.SlotSeconds, Source)
	out.WriteString("It is made by an auction house played in one loop over chain time. It is no record of a " +
		"public network, and nothing in it was measured.\n\n")
	out.WriteString(Explained() + "\n")
	fmt.Fprintf(&out, "## Rows\n%s\n## Tables\n", tally.markdown())
	for _, table := range dataset.Tables {
		out.WriteString("\n" + table.Markdown())
	}
	return out.String()
}
