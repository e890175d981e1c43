// Package clauses is the catalogue of what the interface description asks of a relay, a stream, an
// RPC, a sidecar and a builder: one clause for each thing that an implementation can get wrong.
// Specs, reports, expectations and mutants name clauses by id and add nothing to them, so that no
// rule is written twice.
//
//	description ─▶ sections.yaml ◀─(says)─ catalogue/*.yaml ─▶ Catalogue ─▶ specs, report, mutants, docs/clauses.md
//
// It also says what follows for a clause from the outcomes of its specs. The same outcomes and
// expectations always give the same verdicts and exit status.
//
//	specs ─▶ outcomes ─┐
//	clauses ───────────┼─▶ one verdict a clause ─▶ profiles ─▶ exit status
//	expected.yaml ─────┘
//
// An id is <interface>-<operation>-<number>, such as REL-HDR-04. It is never changed and never used
// again. A clause that is given up stays in the catalogue as retired, so that old reports can still
// be read.
package clauses

import (
	"fmt"
	"strings"
)

// Level says how binding a clause is.
type Level string

// The levels. MUST, SHOULD and MAY are as in RFC 2119; DEF is what deployed servers do where the
// description is silent.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
	Def    Level = "DEF"
)

// Levels are all levels, the most binding first.
var Levels = []Level{Must, Should, May, Def}

// Mode is how much of the world around a target the suite must control.
type Mode int

// The modes. A clause of a mode can be judged in that mode and in all later ones.
const (
	// Black needs URLs only: reads, malformed input, authentication.
	Black Mode = iota
	// Grey needs a world that the target follows: validators to register, blocks to submit, accounts
	// with money.
	Grey
	// White also needs a world that the target acts on, such as an RPC that sends to the world's
	// builders, or a world with a fault or a clock that the suite controls.
	White
)

var modeNames = []string{"black", "grey", "white"}

func (m Mode) String() string { return modeNames[m] }

// ParseMode reads the name of a mode.
func ParseMode(text string) (Mode, error) {
	for i, name := range modeNames {
		if text == name {
			return Mode(i), nil
		}
	}
	return 0, fmt.Errorf("mode %q is unknown: give one of %s", text, strings.Join(modeNames, ", "))
}

// Clause is one rule that a server keeps or breaks.
type Clause struct {
	ID    string `json:"id"`
	Level Level  `json:"level"`
	// Rule is the rule in our own words, as one sentence.
	Rule string `json:"rule"`
	// Says are the statements of the description that it follows from, as "Events 2" or "Event logs";
	// see sections.yaml.
	Says []string `json:"says"`
	// Source is the authority for the rule: the description itself, or where it is silent a public
	// specification or what deployed servers do.
	Source string `json:"source"`
	// Quote is the sentence, or the line of a schema, from which the rule follows. A MUST whose source
	// is not the description has one; what binds is then a matter of reading and not of belief.
	Quote string `json:"quote,omitempty"`
	// Paraphrase says that Quote is in our own words: the source states it by a schema that spans
	// several lines or files.
	Paraphrase bool `json:"paraphrase,omitempty"`
	// Profile is the group of clauses that the clause is in, such as relay-proposer. A server is
	// conformant to a profile as a whole.
	Profile string `json:"profile"`
	// Feature is what a server may lack altogether, such as ssz; empty for what every server of the
	// profile has.
	Feature string `json:"feature,omitempty"`
	// Setting is the key of Settings that target.yaml must declare for this clause to be judged;
	// empty if it needs none.
	Setting string `json:"setting,omitempty"`
	// Mode is the least mode in which the clause can be judged.
	Mode Mode `json:"-"`
	// Disputed is why sources contradict each other; such a clause is recorded and never scored.
	Disputed string `json:"disputed,omitempty"`
	// Heavy is what its specs send that a server of somebody else should not get unasked; empty if
	// that is nothing.
	Heavy string `json:"heavy,omitempty"`
	// Unproven is why no mutant shows that the suite notices a breach. A MUST without a mutant
	// needs this reason.
	Unproven string `json:"unproven,omitempty"`
	// Retired is why the clause is not judged any more.
	Retired string `json:"retired,omitempty"`
}

// Interface is the first part of the id in words: relay, stream, rpc, sidecar, builder or
// consensus.
func (c Clause) Interface() string { return interfaces[c.ID[:3]] }

// Operation is the first two parts of the id, such as REL-HDR.
func (c Clause) Operation() string { return c.ID[:7] }

// IsGloas says whether the clause is about the fork that takes blinded blocks away. Its world has
// slots of that fork.
func (c Clause) IsGloas() bool { return strings.HasPrefix(c.ID, "GLO") }

// IsModel says whether the clause is judged by plans of a model, and not by specs of single cases.
func (c Clause) IsModel() bool { return strings.HasSuffix(c.Operation(), "-MOD") }

// FeatureHere is the feature of the clause at its operation alone, such as ssz@REL-HDR; empty if it
// needs none. A server may have SSZ for registrations and not for bids.
func (c Clause) FeatureHere() string {
	if c.Feature == "" {
		return ""
	}
	return c.Feature + "@" + c.Operation()
}

// interfaces has the name of each interface by the first part of an id.
var interfaces = map[string]string{"REL": "relay", "GLO": "relay", "STR": "stream", "RPC": "rpc", "SID": "sidecar",
	"BLD": "builder", "CON": "consensus"}

// Interfaces are the names of the interfaces, in the order of the description.
var Interfaces = []string{"relay", "stream", "rpc", "sidecar", "builder", "consensus"}

// Profiles are the groups, in the order of reports.
var Profiles = []string{
	"relay-proposer", "relay-builder", "relay-data", "relay-fork", "relay-gloas",
	"stream-live", "stream-history", "stream-fork",
	"rpc-auth", "rpc-bundle", "rpc-share", "rpc-private", "rpc-refund", "rpc-fork", "sidecar-header", "sidecar-payload",
	"builder-submission",
	"builder-relays", "consensus-proposals",
}

// Settings are facts about a target that the suite cannot find out by requests, and that
// target.yaml may declare. The clauses of a setting that is not declared are not run.
var Settings = map[string]string{
	"limits.headerCutOffMs": "how far into the slot bids are served",
	"limits.relay":          "how many requests the relay takes of one address",
	"limits.rpc":            "how many requests the bundle RPC takes of one address",
	"limits.refundsPerPage": "how many refunds the bundle RPC lists in one answer",
	"limits.stream":         "how many listeners the stream has room for",
	"literal.relay":         "a relay that does what the description says where deployed ones do something else",
	"literal.stream":        "a stream that does so",
	"literal.rpc":           "a bundle RPC that does so",
	"sidecar.minBidWei":     "the lowest value of a bid that the sidecar hands on",
	"relay.trustedBuilders": "builders whose bids count before their blocks are executed",
}

// Features are the optional features, which a server may lack.
var Features = map[string]string{
	"ssz":           "bodies and answers as application/octet-stream",
	"gzip":          "request bodies packed with gzip",
	"cancellations": "a builder may lower its bid with ?cancellations=1",
	"payload-v2":    "POST /eth/v2/builder/blinded_blocks",
	"gas-used":      "events carry gasUsed",
	"mev-gas-price": "events carry mevGasPrice",
	"history-post":  "POST /api/v1/history",
	"batch":         "lists of JSON-RPC requests",
	"refunds":       "methods about fee refunds",
	"delayed":       "methods about delayed refunds",
	"neutral-names": "methods and header with the neutral prefixes vendor and pool",
	"csv":           "the Data API answers in CSV",
	"browsers":      "pages in browsers may ask: preflight requests are answered",
	"discover":      "rpc.discover",
	"mev-refunds":   "flashbots_getMevRefundTotalByRecipient and …BySender",
	"stats-v1":      "the first versions of the statistics",
	"order-status":  "gavel_getOrderStatus",
}
