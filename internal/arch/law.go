// Package arch checks which package may import which. The import law is data, below. The tests of
// this package check it against the imports of every package and write its table into
// docs/architecture.md. Test files are outside the law: they may wire what products may not. Rules
// of the whole repository that no package is about have their tests here, too: its documents, and
// the scripts, which run with programs in their PATH that only say what real ones would.
package arch

import "slices"

// Rule says what some packages may never import, not even through other packages of this module.
//
// A pattern is a path below the module, or of the standard library with "std:" in front, or of
// another module with "mod:". In it "*" stands for one element and a last "..." for any number of
// them, or none.
type Rule struct {
	Packages []string
	// Except are packages that Packages would cover but the rule does not.
	Except []string
	Banned []string
	// Allowed are imports that Banned would cover but the rule does not. The rule does not look at
	// what they import themselves.
	Allowed []string
	Because string
}

// Pure are the packages whose results follow from their arguments alone: they get the time as an
// argument, start no goroutine, wait for nothing and lock nothing.
var Pure = []string{
	"internal/eth", "internal/eth/gloas", "internal/eth/gloas/check", "internal/eth/shape",
	"internal/jsonscan", "internal/orderflow", "devnet/beacon/epbs",
	"relay", "relay/auction", "relay/bid", "relay/check", "relay/web", "relay/wire", "rpc", "rpc/bundle", "rpc/pool",
	"rpc/lease", "rpc/refund",
	"stream", "devnet", "devnet/mempool", "devnet/timeline", "scenarios", "scenarios/dataset", "monitor",
	"conformance/bench",
	"scenarios/backtest", "scenarios/figures",
}

// Parallel are pure packages whose arithmetic is too slow on one processor: hashing a block and
// verifying many signatures. A call uses several processors, and payload keeps the memory that
// hashing needs (allocating it anew costs a fifth of the time). The caller sees nothing of that:
// the answer follows from the arguments, and no goroutine outlives its call. What the law says of
// Pure holds for them, too, except for goroutines and locks.
var Parallel = []string{"internal/eth/bls", "internal/eth/payload"}

// Future are packages of the design that are not built yet. When one appears it must leave this
// list; from then on every pattern that names it must match.
var Future = []string{}

// Law is the import law.
var Law = []Rule{
	{
		Packages: slices.Concat([]string{"conformance/clauses"}, Parallel, Pure),
		Banned:   []string{"std:net/...", "std:os/...", "std:log/...", "std:syscall", "internal/clock"},
		Because:  "a decision is a value: the same input must give the same output, so that a recorded day can be replayed",
	},
	{
		Packages: []string{"relay"},
		Banned:   []string{"relay/*/..."},
		Because:  "the vocabulary is what all packages import; it can import none of them",
	},
	{
		Packages: []string{"rpc"},
		Banned:   []string{"rpc/*/..."},
		Because:  "the vocabulary is what all packages import; it can import none of them",
	},
	{
		Packages: []string{"stream"},
		Banned:   []string{"stream/*/..."},
		Because:  "the vocabulary is what all packages import; it can import none of them",
	},
	{
		Packages: []string{"relay/..."},
		Banned:   []string{"stream/...", "rpc/..."},
		Because:  "three products, which can be replaced one by one",
	},
	{
		Packages: []string{"stream/..."},
		Banned:   []string{"relay/...", "rpc/..."},
		Because:  "three products, which can be replaced one by one",
	},
	{
		Packages: []string{"rpc/..."},
		Banned:   []string{"relay/...", "stream/..."},
		Because:  "three products, which can be replaced one by one",
	},
	{
		Packages: []string{"*/api/..."},
		Banned: []string{
			"*/archive", "*/beacon", "internal/journal", "internal/projection", "internal/exec/...",
			"std:database/sql",
		},
		Because: "handlers decode, ask a port, and encode; what they do it with is not theirs to know",
	},
	{
		Packages: []string{"..."},
		Except:   []string{"*/app", "cmd/..."},
		Banned:   []string{"*/app"},
		Because:  "wiring comes last: nothing imports it",
	},
	{
		Packages: []string{"relay/...", "stream/...", "rpc/...", "monitor/...", "cmd/gavel", "internal/..."},
		Banned: []string{"devnet/...", "scenarios/...", "conformance/...", "mod:github.com/onsi/...",
			"mod:github.com/testcontainers/..."},
		Because: "the services do not know the tools that test them",
	},
	{
		Packages: []string{"internal/..."},
		Banned:   []string{"relay/...", "stream/...", "rpc/...", "cmd/..."},
		Because:  "leaves know no product",
	},
	{
		Packages: []string{"devnet/agent/..."},
		Banned:   []string{"relay/...", "stream/...", "rpc/...", "internal/journal", "internal/projection"},
		Allowed:  []string{"*/client", "devnet/network"},
		Because:  "agents are outsiders, or what happens in a devnet proves nothing",
	},
	{
		Packages: []string{"devnet/agent/..."},
		Except:   []string{"devnet/agent/proposer"},
		Banned:   []string{"internal/serve"},
		Allowed:  []string{"*/client", "devnet/network"},
		Because:  "agents ask and do not serve, but for the sidecar of proposers outside of this process",
	},
	{
		Packages: []string{"devnet", "devnet/chain", "devnet/beacon/...", "devnet/network", "devnet/display"},
		Banned:   []string{"relay/...", "stream/...", "rpc/..."},
		Because:  "the world around the services is there without them",
	},
	{
		Packages: []string{"conformance/..."},
		Except:   []string{"conformance/app"},
		Banned:   []string{"relay/...", "stream/...", "rpc/..."},
		Because:  "the suite needs its own eyes: a mistake on both sides would cancel out",
	},
	{
		Packages: []string{"conformance/mutant/overlay"},
		Banned:   []string{"internal/...", "devnet/...", "scenarios/...", "conformance/..."},
		Because:  "patched services import it, and would bring what it imports with them",
	},
	{
		Packages: []string{"..."},
		Except:   []string{"conformance/app", "cmd/..."},
		Banned:   []string{"mod:github.com/testcontainers/...", "mod:github.com/moby/..."},
		Because:  "one package speaks to the container engine; the others get addresses",
	},
	{
		Packages: []string{"..."},
		Except:   []string{"internal/journal", "*/app", "cmd/..."},
		Banned:   []string{"mod:github.com/nats-io/..."},
		Because:  "one package speaks to the journal's server; the others see ports",
	},
	{
		Packages: []string{"..."},
		Except: []string{"internal/projection/...", "*/archive", "*/ledger", "*/history",
			"*/app", "cmd/..."},
		Banned:  []string{"mod:github.com/mattn/go-sqlite3", "mod:github.com/jackc/..."},
		Because: "one package knows database drivers, so that another database is one more file there",
	},
}
