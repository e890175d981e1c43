package vectors_test

import (
	"net/http"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"

	"github.com/gavel-relay/gavel/conformance/vectors"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/chain/chaintest"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
	"github.com/gavel-relay/gavel/relay/check"
	"github.com/gavel-relay/gavel/relay/wire"
)

// verdict is what the relay's code says to a request: nil means accepted. Rule is that of the
// validator.
type verdict struct {
	refused *relay.Refused
	rule    exec.Rule
}

// wantVerdict compares what the relay's code says with what a vector expects.
func wantVerdict(t *testing.T, got verdict, want vectors.Expect) {
	t.Helper()
	switch {
	case want.Verdict == "accepted":
		if got.refused != nil {
			t.Errorf("refused by %s (%v), the vector says accepted", got.refused.ID, got.refused)
		}
		return
	case got.refused == nil:
		t.Errorf("accepted, the vector says refused by %s", want.Refusal)
		return
	}
	if got.refused.ID != want.Refusal || string(got.rule) != want.Rule {
		t.Errorf("refused by %s %s (%v), the vector says %s %s", got.refused.ID, got.rule, got.refused,
			want.Refusal, want.Rule)
	}
	if status := api.Statuses[got.refused.ID]; status/100 != 4 || want.StatusClass != "4xx" {
		t.Errorf("status %d, the vector says %s", status, want.StatusClass)
	}
}

// parse reads hexadecimal digits of the vectors.
func parse(t *testing.T, text string, into []byte) {
	t.Helper()
	if err := eth.ParseHex(text, into); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
}

// specOf is the network of a file of vectors.
func specOf(t *testing.T, n vectors.ForkNetwork) *eth.Spec {
	t.Helper()
	fork, err := eth.ParseFork(n.Fork)
	if err != nil {
		t.Fatal(err)
	}
	spec := &eth.Spec{
		GenesisTime: time.Unix(int64(n.GenesisTime), 0), SlotDuration: time.Duration(n.SlotSeconds) * time.Second,
		SlotsPerEpoch: n.SlotsPerEpoch, Forks: []eth.ForkPoint{{Fork: fork}},
	}
	parse(t, n.GenesisForkVersion, spec.GenesisForkVersion[:])
	parse(t, n.GenesisValidatorsRoot, spec.GenesisValidatorsRoot[:])
	parse(t, n.ForkVersion, spec.Forks[0].Version[:])
	return spec
}

// caseOf is what the checks look at, as a vector describes it.
func caseOf(t *testing.T, spec *eth.Spec, k *vectors.Known) *check.Case {
	t.Helper()
	c := &check.Case{Spec: spec, HeadSlot: k.HeadSlot, NowSlot: k.NowSlot, Delivered: k.Delivered}
	c.Builder.Blocked = k.BuilderBlocked
	if d := k.Duty; d != nil {
		c.Duty = &relay.RegisteredDuty{Duty: relay.Duty{Slot: d.Slot, Index: d.ValidatorIndex}}
		parse(t, d.Pubkey, c.Duty.Proposer[:])
		if r := d.Registration; r != nil {
			m := &builderv1.ValidatorRegistration{GasLimit: r.GasLimit, Pubkey: c.Duty.Proposer}
			parse(t, r.FeeRecipient, m.FeeRecipient[:])
			c.Duty.Registration = &relay.SignedRegistration{Message: m}
		}
	}
	if a := k.Attributes; a != nil {
		c.Attributes = &relay.Attributes{Slot: a.Slot, ParentNumber: a.ParentNumber, Withdrawals: a.Withdrawals}
		parse(t, a.ParentHash, c.Attributes.ParentHash[:])
		parse(t, a.PrevRandao, c.Attributes.PrevRandao[:])
	}
	return c
}

// openGenesis opens a chain with the genesis of a file of vectors.
func openGenesis(t *testing.T, n vectors.ForkNetwork) *chain.Node {
	t.Helper()
	genesis := readInto[core.Genesis](t, n.Genesis)
	var funded []common.Address
	for account, its := range genesis.Alloc {
		if len(its.Code) == 0 && its.Balance.BitLen() > 64 {
			funded = append(funded, account)
		}
	}
	opened := chaintest.OpenWith(t, chain.Config{
		Spec: specOf(t, n), ChainID: n.ChainID, GasLimit: genesis.GasLimit, Funded: funded,
	})
	if got := opened.Genesis().Hash().Hex(); got != n.GenesisHash || genesis.ToBlock().Hash().Hex() != n.GenesisHash {
		t.Fatalf("genesis %s, %s by the file, want %s", got, genesis.ToBlock().Hash(), n.GenesisHash)
	}
	return opened
}

// requestOf is the request that carries a body.
func requestOf(t *testing.T, b vectors.Body) (*http.Request, wire.Media) {
	t.Helper()
	r := &http.Request{Method: http.MethodPost, Header: http.Header{}}
	for name, value := range b.Headers {
		r.Header.Set(name, value)
	}
	media, refused := api.Media(r)
	if refused != nil {
		t.Fatal(refused)
	}
	return r, media
}

// The relay's decoders, checks and validator come to each vector's verdict, in both encodings.
func TestRelayAgreesWithSubmissions(t *testing.T) {
	for _, fork := range vectors.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			t.Parallel()
			file := readInto[vectors.Submissions](t, "relay/submissions/"+fork.String()+"/cases.json")
			spec, validator := specOf(t, file.Network), chain.NewValidator(openGenesis(t, file.Network).Chain(),
				chain.ValidatorOptions{})
			for _, c := range file.Cases {
				for _, body := range c.Bodies {
					t.Run(c.Name+"/"+body.Encoding, func(t *testing.T) {
						r, media := requestOf(t, body)
						wantVerdict(t, judgeSubmission(t, spec, validator, r, media, read(t, body.File), c), c.Expect)
					})
				}
			}
		})
	}
}

// judgeSubmission does what relay/submit does with a submission: decode, check, execute.
func judgeSubmission(t *testing.T, spec *eth.Spec, validator exec.Validator, r *http.Request, media wire.Media,
	raw []byte, c vectors.SubmissionCase) verdict {
	fork, refused := api.Fork(r, spec.Forks[0].Fork, media == wire.SSZ)
	if refused != nil {
		return verdict{refused: refused}
	}
	s, err := wire.DecodeSubmission(fork, media, raw)
	if err != nil {
		return verdict{refused: relay.Malformed.With("%v", err)}
	}
	checked := caseOf(t, spec, c.Known)
	checked.Submission = s
	if refused := check.Run(checked); refused != nil {
		return verdict{refused: refused}
	}
	block := &exec.Block{
		Fork: fork, Payload: s.Payload, Blobs: s.Blobs, Requests: s.Requests, Trace: s.Trace, Signature: s.Signature,
		RegisteredGasLimit: checked.Duty.Registration.Message.GasLimit, FeeRecipient: s.Trace.ProposerFeeRecipient,
		ValueWei: s.Trace.Value,
	}
	parse(t, c.Known.Attributes.ParentBeaconRoot, block.ParentBeaconRoot[:])
	judged := validator.Validate(t.Context(), block)
	if judged.Class == exec.Valid {
		return verdict{}
	}
	return verdict{refused: relay.SubmissionInvalid.With("%s: %s", judged.Rule, judged.Detail), rule: judged.Rule}
}

// Each refusal of the table of checks has a vector, for whole submissions, and each rule of the
// validator that a block can break.
func TestSubmissionsCoverTheChecks(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range readInto[vectors.Submissions](t, "relay/submissions/fulu/cases.json").Cases {
		seen[c.Expect.Refusal], seen[c.Expect.Rule] = true, true
	}
	for _, rule := range check.Table {
		for _, refusal := range rule.Refuses {
			if refusal == relay.SubmissionSlotNumber {
				continue // only blocks of gloas have the number, and these vectors are of fulu
			}
			if rule.For != check.HeaderOnly && !seen[refusal.ID] {
				t.Errorf("no submission is refused by %s", refusal.ID)
			}
		}
	}
	for _, rule := range []exec.Rule{exec.RuleBlockHash, exec.RuleHeader, exec.RuleGasLimit, exec.RuleExecution,
		exec.RuleState, exec.RulePayment, exec.RuleBlobs} {
		if !seen[string(rule)] {
			t.Errorf("no submission breaks the rule %s", rule)
		}
	}
}
